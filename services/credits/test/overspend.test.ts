import { randomFrom, runSeed, type TestDatabase, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { asCaller, tenantOf } from './boot.ts';
import { type CreditsProcess, creditsProcess } from './processes.ts';
import { faultsOf } from './verification.ts';

const rounds = Number(process.env['FAULT_ROUNDS'] ?? 4);

let database: TestDatabase;
let processes: CreditsProcess[];

beforeAll(async () => {
  database = await testDatabase();
  processes = await Promise.all([1, 2, 3].map(() => creditsProcess(database.url)));
  await Promise.all(processes.map((each) => each.start()));
});

afterAll(async () => {
  await Promise.all(processes.map((each) => each.stop()));
  await database.drop();
});

test(
  'of 1,000 parallel holds on a balance that covers 100, three processes grant exactly 100',
  async () => {
    const seed = runSeed('overspend');
    for (let round = 0; round < rounds; round += 1) await overspend(seed + round);
    const [first] = processes;
    if (first) expect(await faultsOf(first)).toEqual([]);
  },
  20_000 + rounds * 5_000,
);

/** Users, amounts, processes and the split into calls are random; the granted total is not. */
async function overspend(seed: number): Promise<void> {
  const random = randomFrom(seed);
  const tenant = tenantOf(`org_${seed}`);
  const amount = 1 + random.below(9);
  const users = [1, 2, 5, 10][random.below(4)] as number;
  await processes[0]?.operator.grant({ tenant, grantId: 'g', amount: amount * 100 });
  await allocate(tenant.organizationId, users, amount);
  const deadlineMs = Date.now() + 300_000;
  const items = Array.from({ length: 1_000 }, (_, index) => {
    return { tenant, holdId: `msg_${index}`, userId: `usr_${index % users}`, amount, deadlineMs };
  });
  const calls: Promise<string[]>[] = [];
  while (items.length > 0) calls.push(outcomes(random.below(3), items.splice(0, 1 + random.below(30))));
  const decided = (await Promise.all(calls)).flat();
  const refusal = users === 1 ? 'credits_exhausted' : 'user_limit_reached';
  expect(
    Object.fromEntries(
      Map.groupBy(decided, (outcome) => outcome)
        .entries()
        .map(([outcome, all]) => [outcome, all.length]),
    ),
  ).toEqual({
    held: 100,
    [refusal]: 900,
  });
}

type HoldItems = Parameters<CreditsProcess['agents']['hold']>[0]['items'];

/** The result of each item. An item that was not decided in time, on a busy machine, is repeated as its caller would. */
async function outcomes(process: number, items: HoldItems & object): Promise<string[]> {
  const { results } = (await processes[process]?.agents.hold({ items }, { timeoutMs: 20_000 })) ?? { results: [] };
  const codes = results.map(({ refusal }) => refusal?.code ?? 'held');
  const undecided = items.filter((_, index) => codes[index] === 'unavailable');
  if (undecided.length === 0) return codes;
  return [...codes.filter((code) => code !== 'unavailable'), ...(await outcomes(process, undecided))];
}

/** Several users share the balance evenly; a single user may take all of it, so that the balance is the reason of a refusal. */
async function allocate(organizationId: string, users: number, amount: number): Promise<void> {
  const { gateway } = processes[0] as CreditsProcess;
  await asCaller({ organizationId }, async () => {
    if (users === 1) await gateway.updateSettings({ defaultMonthlyLimit: 2_000_000_000 });
    else
      for (let user = 0; user < users; user += 1)
        await gateway.setAllocation({ userId: `usr_${user}`, monthlyLimit: (amount * 100) / users, rolloverEnabled: false });
  });
}
