import { createHash } from 'node:crypto';
import { ServiceError } from '@agent-service/contracts';
import type { FailureKind } from '@agent-service/work';
import type { Pool, PoolClient, QueryConfig, QueryResult } from 'pg';

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

interface DriverFailure {
  code?: string;
  constraint?: string;
  message?: string;
}

/** Connection failures, shutdown, too many connections, time-outs of statement and lock, failed serialization. */
const passing = /^(08...|53...|57P0.|57014|55P03|40001|40P01|25P03|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH)$/;
const passingMessage =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Query read timeout/;

function failureOf(cause: unknown): DriverFailure {
  return typeof cause === 'object' && cause !== null ? (cause as DriverFailure) : {};
}

/** A database that is away or overloaded is an `unavailable` for the caller; everything else stays what it is. */
export function translateFailure(cause: unknown): unknown {
  if (cause instanceof ServiceError) return cause;
  const { code, message } = failureOf(cause);
  const temporary = passing.test(code ?? '') || passingMessage.test(message ?? '');
  return temporary ? new ServiceError('unavailable', { cause }) : cause;
}

/** Data, constraints, conflicts, raised errors, timeouts of locks and statements: anything else may be the connection or its prepared statements. */
const ownFault = /^(22...|23...|40...|P0001|55P03|57014)$/;

/** Whether the statement failed by its own fault, so that the next one on its connection need not. */
const leavesConnectionUsable = (cause: unknown): boolean => ownFault.test(failureOf(cause).code ?? '');

const timedOut = new Set(['57014', '55P03']);
const mayPassAgain = new Set(['40P01', '40001']);

/**
 * What a batch's failed statement says about its items. A statement or lock that timed out is one item's or one tenant's fault, and
 * not the database's absence; of transactions that wait for each other one is ended, and may pass the second time.
 */
export function judgeStatement(cause: unknown): FailureKind {
  const code = failureOf(cause instanceof ServiceError ? cause.cause : cause).code ?? '';
  if (timedOut.has(code)) return 'slow';
  if (mayPassAgain.has(code)) return 'retry';
  const isAway = cause instanceof ServiceError && ['unavailable', 'deadline_exceeded', 'cancelled'].includes(cause.code);
  return isAway ? 'all' : 'item';
}

/** Whether the statement failed because of this constraint. */
export function isViolation(cause: unknown, constraint: string): boolean {
  return failureOf(cause).constraint === constraint;
}
