import { type MigratedSchema, migratedSchema, tablesOfStore } from '@agent-service/testkit/schema';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { dueStatements } from '../src/store/due.ts';
import { entities } from '../src/store/entities.ts';
import { loadStatements } from '../src/store/load.ts';
import { migrations } from '../src/store/migrations/index.ts';
import { saveStatements } from '../src/store/save.ts';
import { balanceStatements } from '../src/store/verify/balances.ts';
import { firstAndLastDayStatements } from '../src/store/verify/first-and-last-days.ts';
import { provenMonthStatements } from '../src/store/verify/proven-months.ts';
import { rollupStatements } from '../src/store/verify/rollups.ts';
import { stepStatements } from '../src/store/verify/steps.ts';

let migrated: MigratedSchema;
beforeAll(async () => {
  migrated = await migratedSchema({ schema: 'credits', migrations, entities });
});
afterAll(() => migrated?.drop());

test('entities describe the schema that the migrations make', async () => {
  expect(await migrated.difference()).toBe('');
});

test('every table has an entity or is of packages/store', async () => {
  expect(await migrated.tablesWithoutEntity()).toEqual(tablesOfStore);
});

test('every statement with a fixed text prepares against the migrated schema', async () => {
  // Reads of usage are composed for each form of a request, and usage.property.test.ts runs them all.
  const statements = {
    ...loadStatements,
    ...saveStatements,
    ...dueStatements,
    ...balanceStatements,
    ...stepStatements,
    ...provenMonthStatements,
    ...rollupStatements,
    ...firstAndLastDayStatements,
  };
  expect(Object.keys(statements).length).toBeGreaterThan(40);
  expect(await migrated.failuresToPrepare(statements)).toEqual([]);
});
