import { Migration, Migrator } from '@mikro-orm/migrations';
import { type Constructor, MikroORM } from '@mikro-orm/postgresql';
import { Client } from 'pg';

export interface NamedMigration {
  name: string;
  class: Constructor<Migration>;
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

/** For the replica that is at it, and for one statement of a step. */
const longestWaitMs = 120_000;

export interface MigrateOptions {
  url: string;
  schema: string;
  migrations: NamedMigration[];
}

/**
 * Brings one service's schema to its newest step and answers with the names of the steps taken. Replicas that start
 * together wait for each other: the session's advisory lock is the schema's.
 */
export async function migrate({ url, schema, migrations }: MigrateOptions): Promise<string[]> {
  const lock = new Client({
    connectionString: url,
    application_name: `agent-service migrations ${schema}`,
    connectionTimeoutMillis: 5_000,
    statement_timeout: longestWaitMs,
  });
  await lock.connect();
  try {
    await lock.query('select pg_advisory_lock(hashtextextended($1, 0))', [`agent-service migrations ${schema}`]);
    await ensureSchema(lock, schema);
    return await runMigrations(url, schema, migrations);
  } finally {
    await lock.end();
  }
}

async function ensureSchema(client: Client, schema: string): Promise<void> {
  const { rowCount } = await client.query('select 1 from pg_namespace where nspname = $1', [schema]);
  if (rowCount === 0) await client.query(`create schema ${client.escapeIdentifier(schema)}`);
}

async function runMigrations(url: string, schema: string, migrations: NamedMigration[]): Promise<string[]> {
  const orm = await MikroORM.init({
    clientUrl: url,
    schema,
    entities: [],
    discovery: { warnWhenNoEntities: false },
    extensions: [Migrator],
    driverOptions: { options: `-c search_path=${schema} -c statement_timeout=${longestWaitMs}` },
    migrations: { migrationsList: migrations, snapshot: false, tableName: 'migrations', silent: true },
    logger: () => undefined,
    pool: { min: 0, max: 2 },
  });
  try {
    return (await orm.migrator.up()).map((step) => step.name);
  } finally {
    await orm.close(true);
  }
}
