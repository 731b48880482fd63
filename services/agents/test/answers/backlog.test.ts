import { setTimeout as pause } from 'node:timers/promises';
import { createProducer, openRedis, redisSettings } from '@agent-service/queues';
import { createProcess, processSettings, readConfig } from '@agent-service/runtime';
import { testRedis } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { createAnswerJobs } from '../../src/answers/deps.ts';
import { processDue, releaseOverdueHolds, removeStaleJobs, retryReleases, retrySettlements } from '../../src/answers/sweeps.ts';
import { leaseMs, unbegunMs } from '../../src/shared/answer.ts';
import { type Composition, compose, environment, untilValue } from './support/compose.ts';

const backlog = Number(process.env['BACKLOG_ANSWERS'] ?? 25_000);
const settlements = Number(process.env['BACKLOG_SETTLEMENTS'] ?? 10_000);
const staleJobs = 10_000;
const overdueHolds = 10_000;

let rig: Composition;
beforeAll(async () => {
  rig = await compose({ limits: { inFlight: 200_000, waiting: 200_000 } });
  Object.assign(rig.deps, { health: { success: () => undefined, failure: () => undefined, isHealthyFor: () => true } });
});
afterAll(() => rig.stop());
afterEach(() => rig.sql('truncate answers, answer_lines, messages'));

interface Rows {
  prefix: string;
  count: number;
  state: 'dispatched' | 'running' | 'settling' | 'releasing';
  dueInMs: number;
  /** So many tenants have them in turn. */
  tenants?: number;
}

/** Answers that were accepted a minute ago. */
async function addRows({ prefix, count, state, dueInMs, tenants = 1_000 }: Rows): Promise<void> {
  await rig.sql(
    `with made as (
       insert into answers (organization_id, environment, id, state, due, agent_id, user_id, tier, conversation_id, accepted_at, deadline,
         dispatches, priority, dispatched_at, claim, attempt, worker_channel, content)
       select 'org_' || n % $6, 'live', $1 || to_char(n, 'FM00000000'), $3, to_timestamp($4::float8 / 1000), 'agt_1', 'usr_1', 'Fast', $1 || n,
         to_timestamp(($5::float8 - 60000) / 1000), to_timestamp(($5::float8 + 3600000) / 1000), 1, 1 + n / $6,
         to_timestamp($5::float8 / 1000), 'claim', 1, 'worker:1', 'Three.'
       from generate_series(0, $2::integer - 1) n returning organization_id)
     insert into answer_lines (organization_id, environment, in_flight) select organization_id, 'live', count(*) from made group by 1
     on conflict (organization_id, environment) do update set in_flight = answer_lines.in_flight + excluded.in_flight`,
    [prefix, count, state, rig.clock.now + dueInMs, rig.clock.now, tenants],
  );
}

const countOf = async (condition: string) =>
  (await rig.sql<{ count: number }>(`select count(*)::integer as count from answers where ${condition}`))[0]?.count ?? 0;

test(`a dead worker's answers are given to another in the first round, with ${backlog} dispatched answers due before them`, async () => {
  await addRows({ prefix: 'msg_waits_', count: backlog, state: 'dispatched', dueInMs: -60_000 });
  await addRows({ prefix: 'msg_dead_', count: 200, state: 'running', dueInMs: -1 });
  rig.apartJobs.length = 0;
  await processDue(rig.deps);
  expect(rig.apartJobs.filter(({ answerId }) => answerId.startsWith('msg_dead_'))).toHaveLength(200);
  expect(await countOf(`id like 'msg_dead_%' and state = 'dispatched' and lost_leases = 1`)).toBe(200);
});

test('the jobs of a backlog are all checked in one second, less often the longer they wait', async () => {
  await addRows({ prefix: 'msg_waits_', count: 3_500, state: 'dispatched', dueInMs: unbegunMs });
  const checkedAt: number[] = [];
  rig.known = ({ answerId }) => answerId !== '';
  for (let second = 0; second < 60; second += 1) {
    rig.clock.now += 1_000;
    let rounds = 0;
    for (let done = 1; done > 0; rounds += 1) done = await processDue(rig.deps);
    if (rounds > 1) checkedAt.push(second + 1);
  }
  rig.known = undefined;
  // After 5 s, then when it has waited twice as long; at 20 s each gets a second job, whose checks start again.
  expect(checkedAt).toEqual([5, 10, 20, 25, 30, 40, 60]);
});

test('a priority changes only when at most half of the older answers are left, in the write of the check', async () => {
  await addRows({ prefix: 'msg_old_', count: 40, state: 'running', dueInMs: leaseMs, tenants: 1 });
  await addRows({ prefix: 'msg_waits_', count: 20, state: 'dispatched', dueInMs: -1, tenants: 1 });
  await rig.sql(`update answers set priority = 41 + substr(id, 11)::integer where id like 'msg_waits_%'`);
  const priorities = async () =>
    (await rig.sql<{ priority: number }>(`select priority from answers where id like 'msg_waits_%' order by id`)).map(
      (row) => row.priority,
    );
  const check = async () => {
    await rig.sql(`update answers set due = to_timestamp(0) where id like 'msg_waits_%'`);
    rig.prioritized.length = 0;
    await processDue(rig.deps);
  };
  const first = await priorities();
  await rig.sql(`delete from answers where id in (select id from answers where id like 'msg_old_%' order by id limit 15)`);
  await check();
  expect(await priorities()).toEqual(first);
  expect(rig.prioritized).toEqual([]);
  await rig.sql(`delete from answers where id in (select id from answers where id like 'msg_old_%' order by id limit 20)`);
  await check();
  // 5 older ones are left: the nth waits behind 4 + n, which is at most half of 40 + n as long as n is below 33.
  expect(await priorities()).toEqual(first.map((_, n) => 6 + n));
  expect(rig.prioritized).toHaveLength(20);
  await check();
  expect(rig.prioritized).toEqual([]);
});

test(`${settlements} settlements that were left over by an outage go as fast as credits takes them, with few in memory`, async () => {
  await addRows({ prefix: 'msg_', count: settlements, state: 'settling', dueInMs: -1 });
  await rig.sql(`update answers set accepted_at = to_timestamp($1::float8 / 1000)`, [rig.clock.now]);
  for (const { id, organization_id } of await rig.sql<{ id: string; organization_id: string }>('select id, organization_id from answers'))
    rig.ledger.holds.set(id, { organizationId: organization_id, state: 'open', deadline: rig.clock.now, ended: 0, charged: 0 });
  let most = 0;
  let rounds = 0;
  // No round ends with 0, after which the sweep would pause, before the backlog is empty.
  for (let done = 1; done > 0; rounds += 1) {
    done = await retrySettlements(rig.deps);
    most = Math.max(most, rig.deps.settlements.size);
  }
  await untilValue(
    () => countOf('true'),
    (left) => left === 0,
  );
  expect(rounds).toBeGreaterThanOrEqual(settlements / 50);
  expect(most).toBeLessThanOrEqual(250);
});

test('while credits is silent for all, a sweep holds few results in memory', async () => {
  await addRows({ prefix: 'msg_', count: 1_000, state: 'settling', dueInMs: -1, tenants: 20 });
  const { promise: silence, resolve: endSilence } = Promise.withResolvers<void>();
  rig.ledger.silent = { of: () => true, until: silence };
  let most = 0;
  for (let steps = 0; steps < 5; steps += 1) {
    await retrySettlements(rig.deps);
    most = Math.max(most, rig.deps.settlements.size);
  }
  expect(most).toBeGreaterThanOrEqual(200);
  endSilence();
  rig.ledger.silent = undefined;
  expect(most).toBeLessThanOrEqual(450);
  await untilValue(
    () => rig.deps.settlements.size,
    (size) => size === 0,
  );
});

test(`${overdueHolds} holds that belong to no answer are all released after credits was silent, with few in memory`, async () => {
  const add = (n: number) =>
    rig.ledger.holds.set(`msg_unused_${n}`, {
      organizationId: `org_${n % 100}`,
      state: 'open',
      deadline: rig.clock.now - 61_000,
      ended: 0,
      charged: 0,
    });
  for (let n = 0; n < overdueHolds; n += 1) add(n);
  const { promise: silence, resolve: endSilence } = Promise.withResolvers<void>();
  rig.ledger.silent = { of: () => true, until: silence };
  const { queue } = rig.deps.releases;
  const step = releaseOverdueHolds(rig.deps);
  let most = 0;
  while ((await step()) > 0) most = Math.max(most, queue.size);
  rig.ledger.silent = undefined;
  endSilence();
  // Releases that the queue had no room for are due a minute later.
  const left = () => [...rig.ledger.holds.values()].filter(({ state }) => state === 'open').length;
  while (left() > 0) {
    rig.clock.now += 60_000;
    await retryReleases(rig.deps);
    await untilValue(
      () => queue.size,
      (size) => size === 0,
    );
  }
  // Fewer than 2,000 where the machine is so busy that the tenants are stuck before the queue is full: then half of it is theirs.
  expect(most).toBeGreaterThanOrEqual(1_000);
  expect(most).toBeLessThanOrEqual(2_500);
});

/** Runs a sweep as the process does, until a condition holds or no row is left. */
async function sweep(step: (parts: Composition['deps']) => Promise<number>, isOver: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isOver()) && (await countOf('true')) > 0) {
    if ((await step(rig.deps)) === 0) await pause(100);
  }
}

test.each([
  ['settlements', 'settling', 50, retrySettlements],
  ['releases', 'releasing', 1_000, retryReleases],
] as const)('%s of four tenants whose ledgers do not answer keep none of a fifth tenant waiting', async (_name, state, each, step) => {
  await addRows({ prefix: 'msg_stuck_', count: 4 * each, state, dueInMs: -2, tenants: 4 });
  await addRows({ prefix: 'msg_fifth_', count: 1, state, dueInMs: -1, tenants: 1 });
  await rig.sql(`update answers set organization_id = 'org_fifth' where id like 'msg_fifth_%'`);
  await rig.sql(`insert into answer_lines (organization_id, environment, in_flight) values ('org_fifth', 'live', 1)`);
  const fifth = 'msg_fifth_00000000';
  rig.ledger.holds.set(fifth, { organizationId: 'org_fifth', state: 'open', deadline: rig.clock.now, ended: 0, charged: 0 });
  const { promise: silence, resolve: endSilence } = Promise.withResolvers<void>();
  rig.ledger.silent = { of: (organizationId) => organizationId !== 'org_fifth', until: silence };
  const isDone = () => rig.ledger.holds.get(fifth)?.state !== 'open';
  await sweep(step, isDone);
  expect(isDone()).toBe(true);
  endSilence();
  rig.ledger.silent = undefined;
  const queue = state === 'settling' ? rig.deps.settlements : rig.deps.releases.queue;
  await untilValue(
    () => queue.size,
    (size) => size === 0,
  );
});

test(`Redis holds no job of an ended answer after the sweep, of ${staleJobs} and those that still wait`, async () => {
  const config = readConfig(z.object({ ...processSettings, ...redisSettings }), {
    HOST: '127.0.0.1',
    OPS_PORT: '0',
    LOG_LEVEL: 'silent',
    REDIS_URL: (await testRedis()).url,
  });
  const running = await createProcess('agents', config, async (process) => {
    const redis = await openRedis(process, config, { commandLimitMs: 20_000 });
    return { jobs: createProducer(process, redis, 'answer'), apartJobs: createProducer(process, redis, 'answerApart') };
  });
  const { jobs, apartJobs } = running.started;
  await addRows({ prefix: 'msg_waits_', count: 20, state: 'dispatched', dueInMs: 0, tenants: 1 });
  const jobOf = (answerId: string, dispatch = 1) => ({
    payload: { organizationId: 'org_0', environment, answerId, dispatch } as const,
    priority: 1,
  });
  const waiting = Array.from({ length: 20 }, (_, n) => `msg_waits_${String(n).padStart(8, '0')}`);
  const ended = Array.from({ length: staleJobs }, (_, n) => jobOf(`msg_ended_${n}`));
  for (let from = 0; from < staleJobs; from += 500) await jobs.add(ended.slice(from, from + 500));
  await jobs.add([...waiting.map((id) => jobOf(id)), ...waiting.map((id) => jobOf(id, 0))]);
  await apartJobs.add([jobOf('msg_ended_apart')]);
  const step = removeStaleJobs({ ...rig.deps, jobs: createAnswerJobs({ jobs, apartJobs }, rig.deps.background) });
  while ((await step()) > 0);
  await untilValue(
    () => Promise.all([jobs.counts(), apartJobs.counts()]),
    ([counts, apart]) => counts.waiting <= 20 && apart.waiting === 0,
  );
  expect(await jobs.known(waiting.map((id) => jobOf(id).payload))).toEqual(waiting.map(() => true));
  await running.stop();
  await retryReleases(rig.deps);
});
