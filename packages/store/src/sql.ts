import { createHash } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { translateFailure } from './failures.ts';

/** Runs one statement with `$1` parameters and answers with its rows. */
export type Sql = <Row extends object>(statement: string, values?: readonly unknown[]) => Promise<Row[]>;

const names = new Map<string, string>();

/** Statements are few and constant, so each is prepared once a connection under a name of its own. */
function nameOf(statement: string): string {
  const name = names.get(statement) ?? createHash('sha256').update(statement).digest('base64url').slice(0, 32);
  names.set(statement, name);
  return name;
}

/** Statements on the pool are each a transaction by itself; on a client they belong to the client's. */
export function createSql(connection: Pool | PoolClient): Sql {
  return async <Row extends object>(text: string, values: readonly unknown[] = []) => {
    try {
      return (await connection.query<Row>({ name: nameOf(text), text, values: [...values] })).rows;
    } catch (cause) {
      throw translateFailure(cause);
    }
  };
}
