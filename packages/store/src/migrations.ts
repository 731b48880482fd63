import { retry, sleep } from '@agent-service/work';
import { Migration, Migrator } from '@mikro-orm/migrations';
import { type Constructor, MikroORM } from '@mikro-orm/postgresql';
import { Client, type ClientConfig } from 'pg';
import { roleOf, withoutOptions } from './servers/database-url.ts';
import { primaryUrl } from './servers/primary.ts';

export interface NamedMigration {
  readonly name: string;
  readonly class: Constructor<Migration>;
  /** The SQL statements of the step, which checks read. */
  readonly statements: readonly string[];
  /** Allows the step to drop what no process of the release before uses any more, and says why nothing does. */
  readonly contracts?: string;
  /**
   * Run one by one before the step, outside of its transaction, so that the step itself holds its locks only briefly: an index made
   * concurrently, a constraint that is validated. Must be repeatable, and must do nothing where the step does not need it.
   */
  readonly preparation?: readonly string[];
}

/** One step of a schema's history, in SQL. Steps are never undone. */
export function migration(name: string, ...statements: string[]): NamedMigration {
  class SqlMigration extends Migration {
    override up(): void {
      for (const statement of statements) this.addSql(statement);
    }
  }
  return { name, class: SqlMigration, statements };
}

/** The limit of one statement, and of the wait for a replica that migrates. */
const statementLimitMs = 30 * 60_000;
const lockPauseMs = 100;
/** Other sessions queue behind a lock that a step waits for, so each wait is short and is repeated. */
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
 * Runs the steps that a service's schema lacks, and returns their names. An advisory lock lets one replica migrate at a time. Each step
 * commits by itself, and is repeated while it cannot get its locks.
 */
export async function migrate({ url: servers, schema, migrations, lockLimitMs = defaultLockLimitMs }: MigrateOptions): Promise<string[]> {
  const url = await primaryUrl(servers);
  const client = await connect({
    connectionString: url,
    application_name: `agent-service migrations ${schema}`,
    statement_timeout: statementLimitMs,
  });
  try {
    // The session with the lock is idle during the steps.
    await client.query('set idle_session_timeout = 0');
    await lockSchema(client, schema);
    await ensureSchema(client, schema);
    await client.query(`select set_config('search_path', $1, false)`, [schema]);
    return await runMigrations({ url, schema, migrations, lockLimitMs }, client);
  } finally {
    await client.end();
  }
}

async function connect(config: ClientConfig): Promise<Client> {
  const client = new Client({ ...config, connectionTimeoutMillis: 5_000 });
  // A connection that breaks fails the next statement; an error event without a listener would end this process.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/**
 * Polls for the lock. A session that waits in a statement keeps its snapshot; a concurrent index build of the migrating replica would
 * wait for that snapshot, and the two would deadlock.
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
  const orm = new MikroORM({
    clientUrl: url,
    schema,
    entities: [],
    discovery: { warnWhenNoEntities: false },
    extensions: [Migrator],
    driverOptions: {
      connectionString: withoutOptions(url),
      options: `-c search_path=${schema} -c statement_timeout=${statementLimitMs} -c lock_timeout=${lockLimitMs}`,
    },
    migrations: { migrationsList: [...migrations], snapshot: false, tableName: 'migrations', silent: true },
    logger: () => undefined,
    pool: { min: 0, max: 2 },
  });
  try {
    const pending = await orm.migrator.getPending();
    for (const { name } of pending) {
      // Fails if the session with the lock is lost: another replica may migrate by now.
      await client.query('select 1');
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

/** A concurrent index build waits for old transactions without a limit, because it blocks no other session. */
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
  /** The connection of the schema's owner. */
  readonly ownerUrl: string;
  /** The connection of the role that the service runs with. */
  readonly runtimeUrl: string;
  readonly schema: string;
  /** The privileges of the role on these tables; on all others it may read and write. */
  readonly restricted: Readonly<Record<string, readonly ('select' | 'insert' | 'delete')[]>>;
}

/**
 * Lets a role that owns nothing work with the schema. The service cannot change rows of a table that it may only read and insert
 * into, because only the owner can disable triggers or grant privileges.
 */
export async function grantRuntimeRole({ ownerUrl, runtimeUrl, schema, restricted }: RuntimeRoleOptions): Promise<void> {
  const client = await connect({ connectionString: await primaryUrl(ownerUrl), statement_timeout: grantLimitMs });
  try {
    const role = client.escapeIdentifier(roleOf(runtimeUrl));
    const own = client.escapeIdentifier(schema);
    await client.query('begin');
    // Concurrent grants on the same tables would fail.
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
