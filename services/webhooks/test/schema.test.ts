import { migrate } from '@agent-service/store';
import { schemaDifference } from '@agent-service/store/entities';
import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { type MigratedSchema, openMigratedSchema } from '@agent-service/testkit/schema';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { attemptStatements } from '../src/store/attempts.ts';
import { deliveryStatements } from '../src/store/deliveries.ts';
import { entities } from '../src/store/entities.ts';
import { migrations } from '../src/store/migrations/index.ts';
import { noticeStatements } from '../src/store/notices.ts';
import { queueStatements } from '../src/store/queue.ts';
import { receiveStatements } from '../src/store/receive.ts';
import { webhookStatements } from '../src/store/webhooks.ts';

const schema = 'webhooks';
/** Tables that packages/store creates in every service. */
const withoutEntity = ['dead_letters', 'idempotency_records', 'migrations', 'outbox'];

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

test('entities describe the schema that the migrations make', async () => {
  // The default is the month in which the migration ran, for the events that were stored before it.
  expect(await schemaDifference({ url: database.url, schema, entities })).toBe(
    'alter table "webhooks"."events" alter column "month" drop default;',
  );
});

test('every table has an entity or is of packages/store', async () => {
  expect(await migrated.tablesWithout(entities.map(({ meta }) => meta.tableName))).toEqual(withoutEntity);
});

test('every listed statement prepares against the migrated schema', async () => {
  const listed = [queueStatements, webhookStatements, attemptStatements, deliveryStatements, noticeStatements, receiveStatements];
  expect(await migrated.failuresToPrepare(Object.assign({}, ...listed))).toEqual([]);
});
