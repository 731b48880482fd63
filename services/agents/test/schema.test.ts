import { migrate } from '@agent-service/store';
import { schemaDifference } from '@agent-service/store/entities';
import { testDatabase } from '@agent-service/testkit';
import { openMigratedSchema } from '@agent-service/testkit/schema';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { entities } from '../src/start.ts';
import { migrations } from '../src/store/migrations/index.ts';

const schema = 'agents';
/** Tables that packages/store creates in every service. */
const withoutEntity = ['dead_letters', 'idempotency_records', 'migrations', 'outbox'];

let database: Awaited<ReturnType<typeof testDatabase>>;

beforeAll(async () => {
  database = await testDatabase();
  await migrate({ url: database.url, schema, migrations });
}, 60_000);
afterAll(() => database?.drop());

test('entities describe the schema that the migrations make', async () => {
  expect(await schemaDifference({ url: database.url, schema, entities })).toBe('');
});

test('every table has an entity or a reason', async () => {
  const migrated = await openMigratedSchema(database.url, schema);
  try {
    expect(await migrated.tablesWithout(entities.map(({ meta }) => meta.tableName))).toEqual(withoutEntity);
  } finally {
    await migrated.end();
  }
});
