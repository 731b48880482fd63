import { createHash } from 'node:crypto';
import { classifyCallFailure, ServiceError } from '@agent-service/contracts';
import type { BatchFailure } from '@agent-service/work';
import type { Pool, PoolClient, QueryConfig, QueryResult } from 'pg';

/** Runs one statement with `$1` parameters and returns its rows. */
export type Sql = <Row extends object>(statement: string, values?: readonly unknown[]) => Promise<Row[]>;

const names = new Map<string, string>();

export type NameStatement = (statement: string) => string;

/** Statements are few and constant, so each connection prepares each of them once, under this name. */
export const nameStatement: NameStatement = (statement) => {
  const name = names.get(statement) ?? createHash('sha256').update(statement).digest('base64url').slice(0, 32);
  names.set(statement, name);
  return name;
};

/** Runs statements in the transaction of the client; prepared, if they get names. */
export function createSql(client: Pick<PoolClient, 'query'>, nameOf: NameStatement | undefined): Sql {
  return async <Row extends object>(text: string, values: readonly unknown[] = []) => {
    try {
      return (await client.query<Row>({ ...(nameOf && { name: nameOf(text) }), text, values: [...values] })).rows;
    } catch (cause) {
      throw translateFailure(cause);
    }
  };
}

/** Runs each statement on a connection of the pool, as a transaction of its own. After a failure by the statement's own fault the connection returns to the pool. */
export const poolClient = (pool: Pool): Pick<PoolClient, 'query'> =>
  ({ query: (query: QueryConfig | string, values?: unknown[]) => runOnPool(pool, toConfig(query, values)) }) as PoolClient;

/** Waits this long for the result of each statement on the connection, in place of the connection's own limit. */
export const withQueryTimeout = (client: PoolClient, query_timeout: number): Pick<PoolClient, 'query'> =>
  ({
    query(query: QueryConfig | string, values?: unknown[]) {
      const limited = { ...toConfig(query, values), query_timeout };
      return client.query(limited);
    },
  }) as PoolClient;

const toConfig = (query: QueryConfig | string, values: unknown[] | undefined): QueryConfig =>
  typeof query === 'string' ? { text: query, ...(values && { values }) } : query;

/** No statement has run, so that a role which may not log in, or a database that accepts no connections, is as temporary as a server that is away. */
export async function connect(pool: Pool): Promise<PoolClient> {
  try {
    return await pool.connect();
  } catch (cause) {
    throw new ServiceError('unavailable', { cause });
  }
}

/** Used because the pool's own `query` closes the connection after every failed statement, so a tenant's timeouts would cost all tenants connections. */
async function runOnPool(pool: Pool, query: QueryConfig): Promise<QueryResult> {
  const client = await connect(pool);
  let isBroken = false;
  const onLost = () => {
    isBroken = true;
  };
  client.once('error', onLost);
  try {
    const result = await client.query(query);
    throwIfUnreplicated(client);
    return result;
  } catch (cause) {
    isBroken ||= !leavesConnectionUsable(cause);
    throw cause;
  } finally {
    client.removeListener('error', onLost);
    client.release(isBroken);
  }
}

const unreplicated = new WeakSet<object>();

/** Remembers clients whose commit did not wait for the synchronous standby to the end: the server reports that as a success with a warning. */
export function watchReplication(client: PoolClient): void {
  client.on('notice', ({ file }) => {
    if (file === 'syncrep.c') unreplicated.add(client);
  });
}

/** A commit that a failover could undo has not succeeded. Its caller tries again, which every effect permits. */
export function throwIfUnreplicated(client: PoolClient): void {
  if (unreplicated.has(client)) throw Object.assign(new Error('the commit was not confirmed by the standby'), { code: '57P03' });
}

/** Collects the parameters of a statement that is built from parts. */
export interface Parameters {
  readonly values: unknown[];
  /** Adds the value and returns its placeholder. */
  add(value: unknown): string;
}

export function parameters(): Parameters {
  const values: unknown[] = [];
  return { values, add: (value) => `$${values.push(value)}` };
}

/** The form in which callers see milliseconds, or a timestamp of the driver (the session's time zone is UTC). */
export const isoTime = (time: string | number): string => new Date(time).toISOString();

interface DriverFailure {
  code?: string;
  constraint?: string;
  message?: string;
}

/** Connection failures, a password that was just replaced, shutdown, too many connections, timeouts of statements, locks and transactions, failed serialization. */
const temporaryCodes = /^(08...|28P01|53...|57P0.|25006|57014|55P03|40001|40P01|25P03|25P04)$/;
/** Failures of sockets and of name servers, as EAI_AGAIN where no name server answers. */
const temporarySystemCodes = /^(ECONN(REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EAI_FAIL|E(HOST|NET)(UNREACH|DOWN))$/;
/** A client outside of a pool, as in the search for the primary, reports `timeout expired`. */
const temporaryMessages =
  /Connection terminated|timeout exceeded when trying to connect|^timeout expired$|Client has encountered a connection error|Query read timeout/;

function failureOf(cause: unknown): DriverFailure {
  return typeof cause === 'object' && cause !== null ? (cause as DriverFailure) : {};
}

/** The driver's failure, which `translateFailure` may have wrapped. */
const driverFailureOf = (cause: unknown): DriverFailure => failureOf(cause instanceof ServiceError ? cause.cause : cause);

/** Turns failures of an unreachable or overloaded database into `unavailable`; returns every other cause unchanged. */
export function translateFailure(cause: unknown): unknown {
  if (cause instanceof ServiceError) return cause;
  const { code, message } = failureOf(cause);
  // MikroORM wraps the failure of `connect` in an exception of its own, with its code.
  const isTemporary =
    code === 'unavailable' ||
    [temporaryCodes, temporarySystemCodes].some((codes) => codes.test(code ?? '')) ||
    temporaryMessages.test(message ?? '');
  return isTemporary ? new ServiceError('unavailable', { cause }) : cause;
}

/** Data, constraints, conflicts, raised errors, timeouts of locks and statements. Any other failure may be the connection's. */
const ownFaults = /^(22...|23...|40...|P0001|55P03|57014)$/;

/** True if the server accepts no writes any more, or its standby does not confirm them. */
export const isLostPrimary = (cause: unknown): boolean => ['25006', '57P03'].includes(driverFailureOf(cause).code ?? '');

/** True if the server did not answer a statement in time. Every statement after it on this connection waits for it. */
export const isUnanswered = (cause: unknown): boolean => /Query read timeout/.test(driverFailureOf(cause).message ?? '');

/** True if the statement worked for longer than it may. Waiting for a lock has a limit of its own. */
export const isStatementTimeout = (cause: unknown): boolean => driverFailureOf(cause).code === '57014';

/** True if the statement failed by its own fault, so that the connection can be used again. */
const leavesConnectionUsable = (cause: unknown): boolean => ownFaults.test(failureOf(cause).code ?? '');

const timeouts = new Set(['57014', '55P03', '25P04']);
const retryableCodes = new Set(['40P01', '40001']);

/**
 * Classifies the failed statement of a batch. A timeout of a statement, lock or transaction is the fault of one item or tenant, and does not mean that
 * the database is unavailable; a transaction that was ended because of a deadlock may pass the second time.
 */
export function classifyDatabaseFailure(cause: unknown): BatchFailure {
  const code = driverFailureOf(cause).code ?? '';
  if (timeouts.has(code)) return 'slow';
  if (retryableCodes.has(code)) return 'retry';
  return cause instanceof ServiceError ? classifyCallFailure(cause) : 'item';
}

/** True if the statement failed because of this constraint. */
export function isViolation(cause: unknown, constraint: string): boolean {
  return failureOf(cause).constraint === constraint;
}
