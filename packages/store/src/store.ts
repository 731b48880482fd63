import { ServiceError } from '@agent-service/contracts';
import { type ClockSampler, type Logger, type ProcessContext, setting } from '@agent-service/runtime';
import {
  type AnyEntity,
  type EntityClass,
  type EntityManager,
  type EntitySchema,
  MikroORM,
  type Transaction as TransactionContext,
} from '@mikro-orm/postgresql';
import type { CompiledQuery } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { z } from 'zod';
import { type ChangeLimiter, createChangeLimiter } from './change-limiter.ts';
import { databaseUrl, serverUrls, withAddress, withoutOptions } from './servers/database-url.ts';
import { checkPooledSession, poolerAddress, setRoleDefaults } from './servers/pooler.ts';
import { clientOfPrimary } from './servers/primary.ts';
import {
  connect,
  createSql,
  isLostPrimary,
  isUnanswered,
  type NameStatement,
  nameStatement,
  poolClient,
  type Sql,
  throwIfUnreplicated,
  translateFailure,
  watchReplication,
  withQueryTimeout,
} from './sql.ts';

/** Settings of every service with a database of its own. */
export const databaseSettings = {
  DATABASE_URL: databaseUrl().describe(
    'PostgreSQL 15 or newer. For `npm start` a server whose role may create roles and schemas, or a role that may create schemas; for a service of a deployment the role that uses its schema. Several servers, of which one accepts writes: `postgres://role:password@one,two/db`.',
  ),
  DATABASE_POOLER: poolerAddress
    .optional()
    .describe(
      'A pooler in transaction mode in front of the server of `DATABASE_URL`, as `pgbouncer:6432`; [what it means](../operations/databases.md#pgbouncer).',
    ),
  DATABASE_POOL_MAX: setting.integer(10, 1, 500).describe('Connections of one process to PostgreSQL.'),
};

const schema = z.object(databaseSettings);
export type DatabaseConfig = z.output<typeof schema>;

const connectLimitMs = 3_000;
const statementLimitMs = 10_000;
/** A client waits for so much longer than the server may work, so that the server ends a slow statement and the connection can be used again. */
const replyMarginMs = 2_000;
/** Shorter than the timeout of any caller. */
const defaultLockLimitMs = 1_500;
/** A frozen process keeps its locks no longer than other sessions wait for them. */
const idleInTransactionLimitMs = 1_000;
/**
 * While the server waits to write a large result, which a frozen process does not read, no other limit ends the session. Longer, because a
 * network that loses packets must not end it.
 */
const unreadResultLimitMs = 5_000;

/** One service's own schema. */
export interface Store {
  readonly orm: MikroORM;
  readonly schema: string;
  /** Statements outside a transaction, prepared. */
  readonly sql: Sql;
  /** Reads entities outside a transaction. */
  read<T>(work: (em: EntityManager) => Promise<T>): Promise<T>;
  /** Commits when the work resolves. Do what must follow the commit after this call. */
  transaction<T>(work: (transaction: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** Limits the changes of callers (`once`). */
  readonly changeLimiter: ChangeLimiter;
}

interface TransactionOptions {
  /**
   * Runs the work a second time if the connection was lost before the commit, as when this process stood still for so long that the server
   * ended the session. For calls that clients do not repeat: without it a pause of the process fails them.
   */
  readonly mayRepeat?: boolean;
  /** How long a statement may take; for work that reads so much that the usual limit is too short. */
  readonly statementLimitMs?: number;
}

interface StoreOptions {
  schema: string;
  entities: (EntityClass<AnyEntity> | EntitySchema)[];
  /** How long a statement waits for a lock. */
  lockLimitMs?: number;
}

const sessionSettings = (schema: string, lockLimitMs: number): Record<string, string> => ({
  search_path: schema,
  statement_timeout: String(statementLimitMs),
  lock_timeout: String(lockLimitMs),
  idle_in_transaction_session_timeout: String(idleInTransactionLimitMs),
  tcp_user_timeout: String(unreadResultLimitMs),
  timezone: 'UTC',
  // Data in frequent use is in memory, so an index costs less than the planner's default, and compiling takes longer than it saves.
  random_page_cost: '1.1',
  jit: 'off',
});

/** Connects to the schema of one service; every wait on it is bounded. Closed with the process. */
export async function openStore(
  process: ProcessContext,
  config: DatabaseConfig,
  { schema, entities, lockLimitMs = defaultLockLimitMs }: StoreOptions,
): Promise<Store> {
  const { DATABASE_POOLER: pooler } = config;
  const settings = sessionSettings(schema, lockLimitMs);
  if (pooler !== undefined) await setRoleDefaults(config.DATABASE_URL, schema, settings);
  const url = withoutOptions(pooler === undefined ? config.DATABASE_URL : withAddress(config.DATABASE_URL, pooler));
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  // Not `init`, which loads every extension that is installed: migrations, with all of the ORM a second time in a build.
  const orm = new MikroORM({
    clientUrl: serverUrls(url)[0] as string,
    schema,
    entities,
    discovery: { warnWhenNoEntities: false },
    logger: (message) => process.logger.warn({ event: 'orm', message }),
    pool: { min: 0, max: config.DATABASE_POOL_MAX, idleTimeoutMillis: 60_000 },
    driverOptions: {
      // The library itself reads no parameters of a URL, as sslmode.
      connectionString: serverUrls(url)[0],
      Client: clientOfPrimary(url),
      onPoolCreated: (created: Pool) => void created.on('connect', watchReplication),
      ...(pooler === undefined && { options: options.join(' ') }),
      application_name: `agent-service ${process.name}`,
      connectionTimeoutMillis: connectLimitMs,
      query_timeout: statementLimitMs + replyMarginMs,
      keepAlive: true,
    },
  });
  process.onStop('database', () => orm.close(true));
  const pool = (await orm.em.getConnection().getNativeClient()) as Pool;
  // A pooler gives each transaction another session, which has not prepared the statement.
  const nameOf = pooler === undefined ? nameStatement : undefined;
  const sql = createSql(poolClient(pool), nameOf);
  const clock = process.clock.follow();
  const check = () => sampleTime(sql, clock);
  process.health.addCheck('database', check);
  await check().catch(rejectWithReason);
  if (pooler !== undefined) await checkPooledSession(sql, schema);

  const connected = { orm, pool, nameOf };
  return {
    orm,
    schema,
    sql,
    read: (work) => readEntities(orm, pool, work),
    transaction: (work, { mayRepeat = false, statementLimitMs: limitMs } = {}) => {
      const run = () => inTransaction(connected, work, limitMs);
      return mayRepeat ? repeatIfUndone(process.logger, run) : run();
    },
    changeLimiter: createChangeLimiter(config.DATABASE_POOL_MAX),
  };
}

/** A process that cannot start shows its operator what the server said. */
const rejectWithReason = (failure: unknown) => Promise.reject(failure instanceof ServiceError ? (failure.cause ?? failure) : failure);

/** Throws if the database does not answer; samples its clock. */
async function sampleTime(sql: Sql, clock: ClockSampler): Promise<void> {
  const beganAt = performance.now();
  const [row] = await sql<{ now: number }>('select extract(epoch from clock_timestamp())::float8 * 1000 as now');
  if (row) clock.sample(row.now, beganAt, performance.now());
}

export interface Transaction {
  /** Entities of this transaction alone; flushed before it commits. */
  readonly em: EntityManager;
  readonly sql: Sql;
}

interface Connected {
  readonly orm: MikroORM;
  readonly pool: Pool;
  readonly nameOf: NameStatement | undefined;
}

/**
 * Runs the work in a transaction on a connection of its own. The connection returns to the pool, or is closed if it cannot roll back; the
 * library's own transactions would never return such a connection, until the pool is empty.
 */
async function inTransaction<T>(
  { orm, pool, nameOf }: Connected,
  work: (transaction: Transaction) => Promise<T>,
  limitMs: number | undefined,
): Promise<T> {
  const client = await connect(pool);
  const statements = limitMs === undefined ? client : withQueryTimeout(client, limitMs + replyMarginMs);
  let isCommitting = false;
  let entities: EntityManager | undefined;
  const transaction: Transaction = {
    sql: createSql(statements, nameOf),
    get em() {
      entities ??= entitiesOn(orm, statements);
      return entities;
    },
  };
  try {
    await client.query(limitMs === undefined ? 'begin' : `begin; set local statement_timeout = ${limitMs}`);
    const result = await work(transaction);
    await entities?.flush();
    isCommitting = true;
    await client.query('commit');
    throwIfUnreplicated(client);
    client.release();
    return result;
  } catch (cause) {
    const isLost = !(await rollBack(client, cause));
    const failure = translateFailure(cause);
    if (isLost && !isCommitting && failure instanceof ServiceError && failure.code === 'unavailable') undone.add(failure);
    throw failure;
  }
}

/** Failures of transactions whose connection was lost before their commit was sent, so that the server has rolled them back. */
const undone = new WeakSet<object>();

/** Runs the transaction a second time if the connection was lost before the commit, as after a pause of this process. */
async function repeatIfUndone<T>(logger: Logger, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    if (!undone.has(cause as object)) throw cause;
    logger.warn({ event: 'transaction_repeated', err: cause });
    return await run();
  }
}

/** Returns false if the connection is lost. */
async function rollBack(client: PoolClient, failure: unknown): Promise<boolean> {
  if (isUnanswered(failure)) {
    client.release(true);
    return false;
  }
  try {
    await client.query('rollback');
    client.release(isLostPrimary(failure));
    return true;
  } catch {
    // The connection is lost, and its transaction with it. The caller gets the first failure, not this one.
    client.release(true);
    return false;
  }
}

/** Each statement takes a connection of the pool and returns it. */
async function readEntities<T>(orm: MikroORM, pool: Pool, work: (em: EntityManager) => Promise<T>): Promise<T> {
  try {
    return await work(entitiesOn(orm, poolClient(pool)));
  } catch (cause) {
    throw translateFailure(cause);
  }
}

/** Creates an entity manager whose statements run on this connection. */
function entitiesOn(orm: MikroORM, client: Pick<PoolClient, 'query'>): EntityManager {
  const em = orm.em.fork();
  const context = { executeQuery: ({ sql, parameters }: CompiledQuery) => client.query(sql, [...parameters]).then(resultOf) };
  em.setTransactionContext(context as unknown as TransactionContext);
  return em;
}

const resultOf = ({ rows, rowCount }: { rows: unknown[]; rowCount: number | null }) => ({ rows, numAffectedRows: BigInt(rowCount ?? 0) });
