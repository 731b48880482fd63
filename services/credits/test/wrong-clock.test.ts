import { clockShifts, type TestDatabase, testDatabase, until } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { tenant } from './answers.ts';
import { asCaller } from './boot.ts';
import { type CreditsProcess, creditsProcess } from './processes.ts';
import { faultsOf, query } from './verification.ts';

const day = 86_400_000;

const bookedRows = `
  select (select bool_and(abs(extract(epoch from now() - at)) < 600) from transfers) as "isNow",
    (select bool_and(month = extract(year from now()) * 12 + extract(month from now()) - 1) from user_accounts) as "isThisMonth",
    (select count(*)::int from pg_inherits where inhparent = 'usage_records'::regclass) as months`;

describe.each([
  ['1.2 seconds ahead', 1_200, []],
  ['40 days ahead', 40 * day, ['clock']],
  ['40 days behind', -40 * day, ['clock']],
])('a process whose clock is %s when it starts', (_, aheadMs, faults) => {
  let database: TestDatabase;
  let credits: CreditsProcess;

  beforeAll(async () => {
    database = await testDatabase();
    credits = await creditsProcess(database.url, (await clockShifts()).settingsAhead(aheadMs));
    await credits.start(faults);
  });
  afterAll(async () => {
    await credits?.stop();
    await database?.drop();
  });

  test('logs that, and charges in the month of its database', async () => {
    await until('the pool is granted', async () => {
      await credits.operator.grant({ tenant, grantId: 'g', amount: 1_000 });
      await asCaller(tenant, () => credits.gateway.updateSettings({ defaultMonthlyLimit: 100 }));
      return true;
    });
    const item = { tenant, userId: 'usr_1', holdId: 'msg_1', amount: 4, deadlineMs: Date.now() + 60_000 };
    expect((await credits.agents.hold({ items: [item] })).results).toMatchObject([{ held: 4 }]);
    expect(await query(database.url, bookedRows)).toEqual([{ isNow: true, isThisMonth: true, months: 2 }]);
    expect(await faultsOf(credits)).toEqual([]);
  });
});
