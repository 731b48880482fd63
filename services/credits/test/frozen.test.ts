import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { tenantOf } from './boot.ts';
import { type CreditsProcess, creditsProcess } from './processes.ts';

const tenant = tenantOf('org_frozen');
let database: TestDatabase;
let credits: CreditsProcess;

beforeAll(async () => {
  database = await testDatabase();
  credits = await creditsProcess(database.url);
  await credits.start();
  await credits.operator.grant({ tenant, grantId: 'g', amount: 1_000 });
});

afterAll(async () => {
  await credits.stop();
  await database.drop();
});

const hold = async (holdId: string) => {
  const { results } = await credits.agents.hold({
    items: [{ tenant, holdId, userId: 'usr_1', amount: 4, deadlineMs: Date.now() + 300_000 }],
  });
  return results[0]?.refusal?.code ?? results[0]?.held;
};

test('a call to a frozen process ends at its deadline, and has no effect after the process continues', async () => {
  expect(await hold('before')).toBe(4);
  credits.freeze();
  await expect(hold('frozen')).rejects.toMatchObject({ code: 'deadline_exceeded' });
  // Longer than the tolerance for clocks: from then on a late call is recognized as late.
  await expect(hold('frozen too')).rejects.toMatchObject({ code: 'deadline_exceeded' });
  await expect(hold('frozen as well')).rejects.toMatchObject({ code: 'deadline_exceeded' });
  credits.thaw();
  expect(await hold('after')).toBe(4);
  // A release of an unknown hold frees nothing; if the hold had been granted, its credits would be released.
  const { results } = await credits.agents.release({ items: [{ tenant, holdId: 'frozen' }] });
  expect(results[0]).toMatchObject({ outcome: 'released', released: 0 });
});
