import type { ClockSampler, ProcessContext } from '@agent-service/runtime';
import { type AnyEntity, type EntityClass, type EntityManager, type EntitySchema, MikroORM } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import type { DatabaseConfig } from './settings.ts';
import { createPoolSql, type Sql } from './sql.ts';
import { inTransaction, readEntities, type Transaction } from './transaction.ts';

const connectLimitMs = 3_000;
const statementLimitMs = 10_000;
/** Shorter than any caller waits for an answer. */
const defaultLockLimitMs = 1_500;
/** A frozen process keeps the locks of its transaction no longer than others wait for them. */
const idleInTransactionLimitMs = 1_000;

/** One service's own schema. */
export interface Store {
  readonly orm: MikroORM;
  readonly schema: string;
  /** Statements outside a transaction, prepared. */
  readonly sql: Sql;
  /** Reads entities outside a transaction. */
  read<T>(work: (em: EntityManager) => Promise<T>): Promise<T>;
  /** Commits when the work resolves. What must follow the commit comes after the call. */
  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
}

interface StoreOptions {
  schema: string;
  entities: (EntityClass<AnyEntity> | EntitySchema)[];
  /** How long a statement waits for a lock. */
  lockLimitMs?: number;
}

const sessionOptions = (schema: string, lockLimitMs: number) =>
  [
    `search_path=${schema}`,
    `statement_timeout=${statementLimitMs}`,
    `lock_timeout=${lockLimitMs}`,
    `idle_in_transaction_session_timeout=${idleInTransactionLimitMs}`,
    'timezone=UTC',
    // Everything that is asked for often is in memory: an index is cheaper than its usual price, and compiling never pays.
    'random_page_cost=1.1',
    'jit=off',
  ]
    .map((option) => `-c ${option}`)
    .join(' ');

/** Connects to the schema of one service; every wait on it is bounded. Closed with the process. */
export async function openStore(
  process: ProcessContext,
  config: DatabaseConfig,
  { schema, entities, lockLimitMs = defaultLockLimitMs }: StoreOptions,
): Promise<Store> {
  const orm = await MikroORM.init({
    clientUrl: config.DATABASE_URL,
    schema,
    entities,
    discovery: { warnWhenNoEntities: false },
    logger: (message) => process.logger.warn({ event: 'orm', message }),
    pool: { min: 0, max: config.DATABASE_POOL_MAX, idleTimeoutMillis: 60_000 },
    driverOptions: {
      options: sessionOptions(schema, lockLimitMs),
      application_name: `agent-service ${process.name}`,
      connectionTimeoutMillis: connectLimitMs,
      query_timeout: statementLimitMs + 2_000,
      keepAlive: true,
    },
  });
  process.onStop('database', () => orm.close(true));
  const pool = (await orm.em.getConnection().getNativeClient()) as Pool;
  const sql = createPoolSql(pool);
  const clock = process.clock.follow();
  const look = () => sampleTime(sql, clock);
  process.health.addCheck('database', look);
  await look();

  return { orm, schema, sql, read: (work) => readEntities(orm, pool, work), transaction: (work) => inTransaction(orm, pool, work) };
}

/** Whether the database answers, and what its clock shows. */
async function sampleTime(sql: Sql, clock: ClockSampler): Promise<void> {
  const beganAt = performance.now();
  const [row] = await sql<{ now: number }>('select extract(epoch from clock_timestamp())::float8 * 1000 as now');
  if (row) clock.sample(row.now, beganAt, performance.now());
}
