import { migrate } from '@agent-service/store';
import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { type ColumnDescription, type MigratedSchema, openMigratedSchema } from '@agent-service/testkit/schema';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MikroORM } from '@mikro-orm/postgresql';
import { credentialStatements } from '../src/store/credentials.ts';
import { entities } from '../src/store/entities.ts';
import { migrations } from '../src/store/migrations/index.ts';
import { signingKeyStatements } from '../src/store/signing-keys.ts';
import { userStatements } from '../src/store/users.ts';

const schema = 'identity';

let database: TestDatabase;
let migrated: MigratedSchema;
beforeAll(async () => {
  database = await testDatabase();
  await migrate({ url: database.url, schema, migrations });
  migrated = await openMigratedSchema(database.url, schema);
}, 30_000);
afterAll(async () => {
  await migrated?.end();
  await database?.drop();
});

/** Types as PostgreSQL's `format_type` spells them. */
const spellings: Readonly<Record<string, string>> = { int: 'integer', 'timestamptz(3)': 'timestamp(3) with time zone' };

async function entityColumns(): Promise<ColumnDescription[]> {
  const orm = await MikroORM.init({ clientUrl: database.url, schema, entities });
  try {
    const columns = [...orm.getMetadata().getAll().values()].flatMap(({ tableName: table, props }) =>
      props.flatMap(({ fieldNames = [], columnTypes = [], nullable = false }) =>
        fieldNames.map((column, index) => {
          const type = columnTypes[index] ?? '';
          return { table, column, type: spellings[type] ?? type, isNullable: nullable };
        }),
      ),
    );
    return columns.sort((a, b) => (`${a.table} ${a.column}` < `${b.table} ${b.column}` ? -1 : 1));
  } finally {
    await orm.close(true);
  }
}

test('entities describe the columns of their tables as the migrations create them', async () => {
  const columns = await entityColumns();
  expect(columns.length).toBeGreaterThan(20);
  expect(columns).toEqual(await migrated.columns([...new Set(columns.map(({ table }) => table))]));
});

test('every listed statement prepares against the migrated schema', async () => {
  const statements = { ...credentialStatements, ...signingKeyStatements, ...userStatements };
  expect(await migrated.failuresToPrepare(statements)).toEqual([]);
});
