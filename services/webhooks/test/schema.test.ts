import { type MigratedSchema, migratedSchema, tablesOfStore } from '@agent-service/testkit/schema';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { attemptStatements } from '../src/store/attempts.ts';
import { deliveryStatements } from '../src/store/deliveries.ts';
import { entities } from '../src/store/entities.ts';
import { migrations } from '../src/store/migrations/index.ts';
import { noticeStatements } from '../src/store/notices.ts';
import { queueStatements } from '../src/store/queue.ts';
import { receiveStatements } from '../src/store/receive.ts';
import { webhookStatements } from '../src/store/webhooks.ts';

let migrated: MigratedSchema;
beforeAll(async () => {
  migrated = await migratedSchema({ schema: 'webhooks', migrations, entities });
});
afterAll(() => migrated?.drop());

test('entities describe the schema that the migrations make', async () => {
  // The default is the month in which the migration ran, for the events that were stored before it.
  expect(await migrated.difference()).toBe('alter table "webhooks"."events" alter column "month" drop default;');
});

test('every table has an entity or is of packages/store', async () => {
  expect(await migrated.tablesWithoutEntity()).toEqual(tablesOfStore);
});

test('every listed statement prepares against the migrated schema', async () => {
  const listed = [queueStatements, webhookStatements, attemptStatements, deliveryStatements, noticeStatements, receiveStatements];
  expect(await migrated.failuresToPrepare(Object.assign({}, ...listed))).toEqual([]);
});
