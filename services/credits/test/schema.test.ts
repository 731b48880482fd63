import { migrate } from '@agent-service/store';
import { schemaDifference } from '@agent-service/store/entities';
import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { type MigratedSchema, openMigratedSchema } from '@agent-service/testkit/schema';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { creditStatements } from '../src/statements.ts';
import { entities } from '../src/store/entities.ts';
import { migrations } from '../src/store/migrations/index.ts';

const schema = 'credits';
/** Tables that packages/store creates in every service. */
const withoutEntity = ['dead_letters', 'idempotency_records', 'migrations', 'outbox'];

let database: TestDatabase;
let migrated: MigratedSchema;
beforeAll(async () => {
  database = await testDatabase();
  await migrate({ url: database.url, schema, migrations });
  migrated = await openMigratedSchema(database.url, schema);
}, 60_000);
afterAll(async () => {
  await migrated?.end();
  await database?.drop();
});

test('entities describe the schema that the migrations make', async () => {
  expect(await schemaDifference({ url: database.url, schema, entities })).toBe('');
});

test('every table has an entity or is of packages/store', async () => {
  expect(await migrated.tablesWithout(entities.map(({ meta }) => meta.tableName))).toEqual(withoutEntity);
});

test('every listed statement prepares against the migrated schema', async () => {
  expect(Object.keys(creditStatements).length).toBeGreaterThan(40);
  expect(await migrated.failuresToPrepare(creditStatements)).toEqual([]);
});
