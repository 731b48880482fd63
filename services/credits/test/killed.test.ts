import { setTimeout as pause } from 'node:timers/promises';
import { randomFrom, runSeed, type TestDatabase, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Answer, type Caller, end, holdAmount, pay, tenant } from './answers.ts';
import { asCaller } from './boot.ts';
import { type CreditsProcess, creditsProcess } from './processes.ts';
import { faultsOf, query } from './verification.ts';

const rounds = Number(process.env['FAULT_ROUNDS'] ?? 2);
const killsARound = 2;
const callers = 30;
const issued = 10_000_000;

let database: TestDatabase;
let processes: CreditsProcess[];

beforeAll(async () => {
  database = await testDatabase();
  processes = await Promise.all([1, 2].map(() => creditsProcess(database.url)));
  await Promise.all(processes.map((each) => each.start()));
  const [first] = processes as [CreditsProcess];
  await first.operator.grant({ tenant, grantId: 'g', amount: issued });
  // Enough credits that most answers are charged and not refused.
  await asCaller(tenant, () => first.gateway.updateSettings({ defaultMonthlyLimit: issued / 4 }));
});

afterAll(async () => {
  await Promise.all(processes.map((each) => each.stop()));
  await database.drop();
});

test(
  'after SIGKILL at any point under load no transfer is lost or doubled, and every open hold is ended',
  async () => {
    const seed = runSeed('killed');
    const answers: Answer[] = [];
    let ended = 0;
    for (let round = 0; round < rounds; round += 1) {
      await underKills(seed + round, answers);
      ended += await ownerEnds(answers);
      await verifyAll(answers);
    }
    expect(ended).toBeGreaterThan(0);
  },
  30_000 + rounds * 20_000,
);

/** Keeps all processes under load while each in turn is killed and restarted; at the end both are killed at once. */
async function underKills(seed: number, answers: Answer[]): Promise<void> {
  const random = randomFrom(seed);
  let stopped = false;
  const caller: Caller = { any: () => processes[random.below(2)] as CreditsProcess, stopped: () => stopped };
  const one = async () => {
    while (!stopped) {
      const answer: Answer = { id: `msg_${seed}_${answers.length}`, cost: random.below(4) === 0 ? null : random.below(7), state: 'new' };
      answers.push(answer);
      await pay(caller, answer, `usr_${random.below(3)}`);
    }
  };
  const load = Promise.all(Array.from({ length: callers }, one));
  for (let kill = 0; kill < killsARound; kill += 1) {
    const victim = processes[kill % 2] as CreditsProcess;
    await pause(50 + random.below(400));
    await victim.kill();
    await victim.start();
  }
  await pause(50 + random.below(200));
  stopped = true;
  await Promise.all(processes.map((each) => each.kill()));
  await load;
  await Promise.all(processes.map((each) => each.start()));
}

/** Ends all overdue holds as `agents` does. Returns how many there were. */
async function ownerEnds(answers: Answer[]): Promise<number> {
  const [owner] = processes as [CreditsProcess];
  const caller: Caller = { any: () => owner, stopped: () => false };
  const open = await query<{ id: string }>(database.url, "select id from holds where state = 'open'");
  const listed: string[] = [];
  for (let cursor = ''; ; ) {
    const { holds, nextCursor } = await owner.agents.listOverdueHolds({ page: { limit: 7, cursor } });
    listed.push(...holds.map(({ holdId }) => holdId));
    if (nextCursor === '') break;
    cursor = nextCursor;
  }
  expect(listed.toSorted()).toEqual(open.map(({ id }) => id).toSorted());
  const byId = new Map(answers.map((answer) => [answer.id, answer]));
  await Promise.all(listed.map((id) => end(caller, byId.get(id) as Answer)));
  expect((await owner.agents.listOverdueHolds({})).holds).toEqual([]);
  return listed.length;
}

/** Every transfer that the answers require exists once, and no other; the ledger is consistent. */
async function verifyAll(answers: Answer[]): Promise<void> {
  const [first] = processes as [CreditsProcess];
  expect(await faultsOf(first)).toEqual([]);
  const holds = await query<{ id: string; state: string; charge: number }>(database.url, 'select id, state, charge from holds');
  const moved = await query<{ id: string; amount: string }>(
    database.url,
    "select id, amount from transfers where code in ('hold', 'charge', 'release')",
  );
  const stateOf = new Map(holds.map((hold) => [hold.id, hold]));
  const decided = answers.filter(({ state }) => state === 'held' || state === 'ended');
  expect(decided.filter(({ id }) => !['settled', 'released'].includes(stateOf.get(id)?.state ?? ''))).toEqual([]);
  const costs = new Map(answers.map(({ id, cost }) => [id, cost]));
  const expected = holds.flatMap(({ id, state }) => transfersOf(id, state, costs.get(id) ?? null));
  expect(Object.fromEntries(moved.map(({ id, amount }) => [id, Number(amount)]))).toEqual(Object.fromEntries(expected));
  const [sums] = await query<{ spent: string; used: string }>(
    database.url,
    'select (select spent from ledgers) as spent, (select sum(used) from user_accounts) as used',
  );
  const charged = holds.reduce((sum, { charge }) => sum + charge, 0);
  expect([Number(sums?.spent), Number(sums?.used)]).toEqual([charged, charged]);
}

function transfersOf(id: string, state: string, cost: number | null): [string, number][] {
  if (state !== 'settled' && state !== 'released') return [];
  const kind = state === 'settled' ? 'settle' : 'release';
  const charge = state === 'settled' ? Math.min(cost ?? 0, holdAmount) : 0;
  const all: [string, number][] = [
    [`hold:${id}:hold`, holdAmount],
    [`${kind}:${id}:charge`, charge],
    [`${kind}:${id}:release`, holdAmount - charge],
  ];
  return all.filter(([, amount]) => amount > 0);
}
