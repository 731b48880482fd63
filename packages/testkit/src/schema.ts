import { reasonOf } from '@agent-service/runtime/failures';
import { migrate, type NamedMigration } from '@agent-service/store';
import { type EntitySchema, MikroORM } from '@mikro-orm/postgresql';
import { Client } from 'pg';
import { testDatabase } from './servers/test-database.ts';

interface SchemaUnderTest {
  readonly schema: string;
  readonly migrations: readonly NamedMigration[];
  readonly entities: readonly EntitySchema[];
}

/** The migrated schema of a service in a database of its own, for tests that compare it with the code. */
export interface MigratedSchema {
  /** The statements that would change the schema into the one that its entities describe; empty if both agree. Tables without an entity are left out. */
  difference(): Promise<string>;
  /** The names of the tables without an entity, sorted. Partitions count as their table. */
  tablesWithoutEntity(): Promise<string[]>;
  /** The names of the statements that PostgreSQL does not prepare, each with the reason. */
  failuresToPrepare(statements: Readonly<Record<string, string>>): Promise<string[]>;
  drop(): Promise<void>;
}

/** Tables that packages/store creates in every service. */
export const tablesOfStore = ['dead_letters', 'idempotency_records', 'migrations', 'outbox'];

export async function migratedSchema({ schema, migrations, entities }: SchemaUnderTest): Promise<MigratedSchema> {
  const database = await testDatabase();
  await migrate({ url: database.url, schema, migrations });
  const client = new Client({ connectionString: database.url, options: `-c search_path=${schema} -c timezone=UTC` });
  await client.connect();

  async function failureToPrepare(statement: string): Promise<string | undefined> {
    try {
      await client.query(`prepare checked as ${statement}`);
      await client.query('deallocate checked');
      return undefined;
    } catch (cause) {
      return reasonOf(cause);
    }
  }

  return {
    async difference() {
      const orm = await MikroORM.init({
        clientUrl: database.url,
        schema,
        entities: [...entities],
        logger: () => undefined,
        driverOptions: { options: `-c search_path=${schema}` },
        pool: { min: 0, max: 2 },
      });
      try {
        return (await orm.schema.getUpdateSchemaSQL({ wrap: false, dropTables: false })).trim();
      } finally {
        await orm.close(true);
      }
    },
    async tablesWithoutEntity() {
      const { rows } = await client.query<{ name: string }>(
        `select relname as name from pg_class where relnamespace = $1::regnamespace and relkind in ('r', 'p') and not relispartition
           and relname <> all($2) order by 1`,
        [schema, entities.map(({ meta }) => meta.tableName)],
      );
      return rows.map(({ name }) => name);
    },
    async failuresToPrepare(statements) {
      const failures: string[] = [];
      for (const [name, statement] of Object.entries(statements)) {
        const failure = await failureToPrepare(statement);
        if (failure !== undefined) failures.push(`${name}: ${failure}`);
      }
      return failures;
    },
    async drop() {
      await client.end();
      await database.drop();
    },
  };
}
