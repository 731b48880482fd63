import { createHash } from 'node:crypto';
import type { Pool, PoolClient, QueryConfig, QueryResult } from 'pg';
import { leavesConnectionUsable, translateFailure } from './failures.ts';

/** Runs one statement with `$1` parameters and answers with its rows. */
export type Sql = <Row extends object>(statement: string, values?: readonly unknown[]) => Promise<Row[]>;

const names = new Map<string, string>();

/** Statements are few and constant, so each is prepared once a connection under a name of its own. */
function nameOf(statement: string): string {
  const name = names.get(statement) ?? createHash('sha256').update(statement).digest('base64url').slice(0, 32);
  names.set(statement, name);
  return name;
}

/** Statements of the transaction that the client is in. */
export function createSql(client: Pick<PoolClient, 'query'>): Sql {
  return async <Row extends object>(text: string, values: readonly unknown[] = []) => {
    try {
      return (await client.query<Row>({ name: nameOf(text), text, values: [...values] })).rows;
    } catch (cause) {
      throw translateFailure(cause);
    }
  };
}

/** Statements that are each a transaction by itself. A connection whose statement failed by its own fault goes back to the pool. */
export const createPoolSql = (pool: Pool): Sql => createSql(poolClient(pool));

/** Runs each statement on a connection of the pool. */
export const poolClient = (pool: Pool): Pick<PoolClient, 'query'> =>
  ({
    query: (query: QueryConfig | string, values?: unknown[]) =>
      runOnPool(pool, typeof query === 'string' ? { text: query, ...(values && { values }) } : query),
  }) as PoolClient;

/** The pool's own `query` closes the connection of every failed statement, so that a tenant's timeouts cost all others connections. */
async function runOnPool(pool: Pool, query: QueryConfig): Promise<QueryResult> {
  const client = await pool.connect();
  let isBroken = false;
  const onLost = () => {
    isBroken = true;
  };
  client.once('error', onLost);
  try {
    return await client.query(query);
  } catch (cause) {
    isBroken ||= !leavesConnectionUsable(cause);
    throw cause;
  } finally {
    client.removeListener('error', onLost);
    client.release(isBroken);
  }
}

/** The parameters of a statement that is built from parts. */
export interface Parameters {
  readonly values: unknown[];
  /** Adds the value and returns its placeholder. */
  add(value: unknown): string;
}

export function parameters(): Parameters {
  const values: unknown[] = [];
  return { values, add: (value) => `$${values.push(value)}` };
}

/** A timestamp as the driver returns it (the session's time zone is UTC), in the form that callers see. */
export const isoTime = (stored: string): string => new Date(stored).toISOString();
