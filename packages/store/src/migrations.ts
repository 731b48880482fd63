import { retry, sleep } from '@agent-service/work';
import { Migration, Migrator } from '@mikro-orm/migrations';
import { type Constructor, MikroORM } from '@mikro-orm/postgresql';
import { Client } from 'pg';

export interface NamedMigration {
  readonly name: string;
  readonly class: Constructor<Migration>;
  /**
   * Run one by one before the step, outside of its transaction, so that the step itself holds its locks only briefly: an index made
   * concurrently, a constraint that is validated. Must be repeatable, and must do nothing where the step does not need it.
   */
  readonly preparation?: readonly string[];
}

/** A step of a schema's history, as SQL. Steps only go forward. */
export function migration(name: string, ...statements: string[]): NamedMigration {
  class SqlMigration extends Migration {
    override up(): void {
      for (const statement of statements) this.addSql(statement);
    }
  }
  return { name, class: SqlMigration };
}

/** Limits one statement of a step, and the time that a replica waits for the one that migrates. */
const statementLimitMs = 30 * 60_000;
const lockPauseMs = 100;
/** Other sessions queue behind a lock that a step waits for, so it waits briefly and often. */
const defaultLockLimitMs = 1_000;
const retryPausesMs = [500, 1_000, 2_000, 5_000];
const maxLockFailures = 60;
/** The lock was not available, or another session waited for a lock of this step: lock_not_available, deadlock_detected. */
const lockFailures = new Set(['55P03', '40P01']);

interface MigrateOptions {
  url: string;
  schema: string;
  migrations: readonly NamedMigration[];
  /** How long each attempt of a step waits for a lock. */
  lockLimitMs?: number;
}

/**
 * Brings one service's schema to its newest step and returns the names of the steps taken. Replicas that start together wait for each
 * other: the session's advisory lock is the schema's. Each step commits by itself, and is repeated while it cannot get its locks.
 */
export async function migrate({ url, schema, migrations, lockLimitMs = defaultLockLimitMs }: MigrateOptions): Promise<string[]> {
  const client = new Client({
    connectionString: url,
    application_name: `agent-service migrations ${schema}`,
    connectionTimeoutMillis: 5_000,
    statement_timeout: statementLimitMs,
  });
  await client.connect();
  try {
    await lockSchema(client, schema);
    await ensureSchema(client, schema);
    await client.query(`select set_config('search_path', $1, false)`, [schema]);
    return await runMigrations({ url, schema, migrations, lockLimitMs }, client);
  } finally {
    await client.end();
  }
}

/**
 * Asks again and again for the lock: a session that waits inside a statement keeps its snapshot, and an index that the migrating replica
 * makes concurrently would wait for that, so that the two would deadlock.
 */
async function lockSchema(client: Client, schema: string): Promise<void> {
  const end = performance.now() + statementLimitMs;
  while (performance.now() < end) {
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock(hashtextextended($1, 0)) as locked', [
      `agent-service migrations ${schema}`,
    ]);
    if (rows[0]?.locked) return;
    await sleep(lockPauseMs);
  }
  throw new Error(`another process has been migrating the schema ${schema} for ${statementLimitMs / 60_000} minutes`);
}

async function ensureSchema(client: Client, schema: string): Promise<void> {
  const { rowCount } = await client.query('select 1 from pg_namespace where nspname = $1', [schema]);
  if (rowCount === 0) await client.query(`create schema ${client.escapeIdentifier(schema)}`);
}

async function runMigrations({ url, schema, migrations, lockLimitMs }: Required<MigrateOptions>, client: Client): Promise<string[]> {
  const orm = await MikroORM.init({
    clientUrl: url,
    schema,
    entities: [],
    discovery: { warnWhenNoEntities: false },
    extensions: [Migrator],
    driverOptions: {
      options: `-c search_path=${schema} -c statement_timeout=${statementLimitMs} -c lock_timeout=${lockLimitMs}`,
    },
    migrations: { migrationsList: [...migrations], snapshot: false, tableName: 'migrations', silent: true },
    logger: () => undefined,
    pool: { min: 0, max: 2 },
  });
  try {
    const pending = await orm.migrator.getPending();
    for (const { name } of pending) {
      for (const statement of migrations.find((step) => step.name === name)?.preparation ?? []) {
        await retryLocked(() => prepare(client, statement, lockLimitMs));
      }
      await retryLocked(() => orm.migrator.up({ migrations: [name] }));
    }
    return pending.map(({ name }) => name);
  } finally {
    await orm.close(true);
  }
}

/** A concurrent index waits for old transactions, and holds nobody up meanwhile. */
async function prepare(client: Client, statement: string, lockLimitMs: number): Promise<void> {
  await client.query(`set lock_timeout = ${/\bconcurrently\b/i.test(statement) ? 0 : lockLimitMs}`);
  await client.query(statement);
}

function retryLocked<T>(work: () => Promise<T>): Promise<T> {
  return retry(work, {
    pauseAfter: (failures, cause) => {
      if (failures >= maxLockFailures || !lockFailures.has(codeOf(cause))) return undefined;
      return retryPausesMs[Math.min(failures, retryPausesMs.length) - 1];
    },
  });
}

/** The migrator wraps the database's error. */
function codeOf(cause: unknown): string {
  const { code, cause: inner } = (cause ?? {}) as { code?: unknown; cause?: unknown };
  if (typeof code === 'string') return code;
  return inner === undefined ? '' : codeOf(inner);
}

const grantLimitMs = 30_000;

interface RuntimeRoleOptions {
  /** As the owner of the schema. */
  readonly ownerUrl: string;
  /** As the role that the service runs with. */
  readonly runtimeUrl: string;
  readonly schema: string;
  /** What the role may do with these tables, instead of reading and writing as with all others. */
  readonly restricted: Readonly<Record<string, readonly ('select' | 'insert' | 'delete')[]>>;
}

/**
 * Lets a role that owns nothing work with the schema. A table that it may only read and add to stays as it is whatever
 * runs in the service, because only the owner can switch triggers off or grant more.
 */
export async function grantRuntimeRole({ ownerUrl, runtimeUrl, schema, restricted }: RuntimeRoleOptions): Promise<void> {
  const client = new Client({ connectionString: ownerUrl, connectionTimeoutMillis: 5_000, statement_timeout: grantLimitMs });
  await client.connect();
  try {
    const role = client.escapeIdentifier(decodeURIComponent(new URL(runtimeUrl).username));
    const own = client.escapeIdentifier(schema);
    await client.query('begin');
    // Replicas that grant the same at the same time fail.
    await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`agent-service grants ${schema}`]);
    await client.query(`grant usage on schema ${own} to ${role}`);
    await client.query(`grant select, insert, update, delete on all tables in schema ${own} to ${role}`);
    await client.query(`grant usage on all sequences in schema ${own} to ${role}`);
    for (const [name, privileges] of Object.entries(restricted)) {
      const table = `${own}.${client.escapeIdentifier(name)}`;
      await client.query(`revoke all on ${table} from ${role}`);
      await client.query(`grant ${privileges.join(', ')} on ${table} to ${role}`);
    }
    await client.query('commit');
  } finally {
    await client.end();
  }
}
