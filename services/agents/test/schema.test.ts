import { type MigratedSchema, migratedSchema, tablesOfStore } from '@agent-service/testkit/schema';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { entities, statements } from '../src/start.ts';
import { migrations } from '../src/store/migrations/index.ts';

let migrated: MigratedSchema;
beforeAll(async () => {
  migrated = await migratedSchema({ schema: 'agents', migrations, entities });
});
afterAll(() => migrated?.drop());

test('entities describe the schema that the migrations make', async () => {
  expect(await migrated.difference()).toBe('');
});

test('every table has an entity or is of packages/store', async () => {
  expect(await migrated.tablesWithoutEntity()).toEqual(tablesOfStore);
});

test('every listed statement prepares against the migrated schema', async () => {
  expect(Object.keys(statements).length).toBeGreaterThan(40);
  expect(await migrated.failuresToPrepare(statements)).toEqual([]);
});
