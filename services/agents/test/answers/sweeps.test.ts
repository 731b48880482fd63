import { setTimeout as pause } from 'node:timers/promises';
import { newId } from '@agent-service/contracts';
import type { Sql } from '@agent-service/store';
import { countLockWaits, until, withDatabase } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { dispatchNext, findDueWork } from '../../src/answers/store/dispatch.ts';
import { readInSteps } from '../../src/answers/store/read.ts';
import { processDue, releaseOverdueHolds, retryReleases, retrySettlements, shareResult } from '../../src/answers/sweeps.ts';
import { doubtfulMs, leaseMs, timeOf, unbegunMs } from '../../src/shared/answer.ts';
import { agentId, type Composition, compose, environment, newMessage, organizationId, untilValue } from './support/compose.ts';
import { charge } from './support/ledger.ts';

let rig: Composition;
let steady = true;
beforeAll(async () => {
  rig = await compose({ limits: { inFlight: 2, waiting: 3 } });
  Object.assign(rig.deps, { health: { success: () => undefined, failure: () => undefined, isHealthyFor: () => steady } });
});
afterAll(() => rig.stop());

afterEach(async () => {
  steady = true;
  rig.known = undefined;
  rig.isConnected = true;
  rig.ledger.mood = 'well';
  // Each test leaves an empty house.
  for (let round = 0; round < 50; round += 1) {
    rig.clock.now += 400_000;
    await processDue(rig.deps);
    await retryReleases(rig.deps);
    await retrySettlements(rig.deps);
    if ((await rig.sql('select 1 from answers')).length === 0) return;
    await pause(10);
  }
  throw new Error('answers are left');
});

const key = (id: string) => ({ organizationId, environment, id }) as const;
const begin = (id: string, claim = 'claim-1', isolation?: 'alone') =>
  rig.answers.begin({ ...key(id), claim, isolation, workerChannel: 'worker:1' });
const result = (id: string, attempt: number) => ({
  ...key(id),
  attempt,
  content: 'Three.',
  contentType: 'text' as const,
  inputTokens: 1,
  outputTokens: 1,
  queries: [],
  record: null,
  refused: false,
});
const jobsOf = (id: string) => rig.jobs.filter(({ answerId }) => answerId === id).map(({ dispatch }) => dispatch);
const stateOf = async (id: string) => (await rig.sql<{ state: string }>('select state from answers where id = $1', [id]))[0]?.state;
const endOf = (id: string) => rig.replies.flatMap(({ reply }) => (reply.kind === 'ended' && reply.id === id ? [reply.message.status] : []));

async function start(more: Parameters<typeof newMessage>[1] = {}): Promise<string> {
  rig.clock.now += 1;
  const message = newMessage(rig.clock.now, more);
  const outcome = await rig.answers.accept(message);
  if (!('started' in outcome)) throw new Error(outcome.refusal.code);
  return message.id;
}

test('after an expired lease the answer runs elsewhere, and the first attempt’s late result is refused', async () => {
  const id = await start();
  await begin(id, 'first');
  expect(await begin(id, 'second')).toEqual({ refusal: { code: 'attempt_superseded' } });
  expect(await begin(id, 'first')).toMatchObject({ input: { attempt: 1 } });
  rig.clock.now += leaseMs - 1;
  expect(await rig.answers.leases.renew([{ ...key(id), attempt: 1 }])).toHaveLength(1);
  rig.clock.now += leaseMs - 1;
  await processDue(rig.deps);
  expect(await stateOf(id)).toBe('running');
  rig.clock.now += 2;
  steady = false;
  await processDue(rig.deps);
  expect(await stateOf(id)).toBe('running');
  steady = true;
  await processDue(rig.deps);
  expect(jobsOf(id)).toEqual([1, 2]);
  expect(await rig.answers.leases.renew([{ ...key(id), attempt: 1 }])).toEqual([]);
  expect(await rig.answers.complete(result(id, 1))).toEqual({ code: 'attempt_superseded' });
  expect(await begin(id, 'second')).toEqual({ refusal: { code: 'attempt_superseded' } });
  expect(await begin(id, 'second', 'alone')).toMatchObject({ input: { attempt: 2 } });
  expect(await rig.answers.complete(result(id, 1))).toEqual({ code: 'attempt_superseded' });
  expect(await rig.answers.fail([{ ...key(id), attempt: 1, failure: null }])).toEqual([{ code: 'attempt_superseded' }]);
  expect(await rig.answers.complete(result(id, 2))).toBeUndefined();
  await untilValue(
    () => endOf(id),
    (ends) => ends.length > 0,
  );
  expect(endOf(id)).toEqual(['completed']);
});

test('a worker renews an expired lease as long as the answer was not redispatched', async () => {
  const id = await start();
  await begin(id);
  rig.clock.now += 3 * leaseMs;
  expect(await rig.answers.leases.renew([{ ...key(id), attempt: 1 }])).toHaveLength(1);
  rig.clock.now += 3 * leaseMs;
  expect(await rig.answers.complete(result(id, 1))).toBeUndefined();
});

test('a job that Redis has lost is added again; one that it knows is not touched until its lease is doubtful', async () => {
  const [lost, known] = [await start(), await start()];
  rig.known = ({ answerId }) => answerId !== lost;
  rig.clock.now += unbegunMs + 1;
  await processDue(rig.deps);
  expect([jobsOf(lost), jobsOf(known)]).toEqual([[1, 2], [1]]);
  rig.known = undefined;
  for (let waited = 0; waited < doubtfulMs; waited += unbegunMs) {
    rig.clock.now += unbegunMs + 1;
    await processDue(rig.deps);
  }
  expect(jobsOf(known)).toEqual([1, 2]);
});

test('a process without Redis leaves lost jobs and expired leases to others, and ends answers past their deadline', async () => {
  const [unbegun, expired] = [await start(), await start()];
  await begin(expired);
  const rows = () => rig.sql('select id, state, due from answers where id in ($1, $2) order by id', [unbegun, expired]);
  const before = await rows();
  rig.known = () => false;
  rig.isConnected = false;
  rig.clock.now += leaseMs + 1;
  await processDue(rig.deps);
  expect([await rows(), jobsOf(unbegun), jobsOf(expired)]).toEqual([before, [1], [1]]);
  rig.clock.now += 300_000;
  await processDue(rig.deps);
  expect([unbegun, expired].flatMap(endOf)).toEqual(['failed', 'failed']);
});

test('an answer past its deadline fails, and its worker is notified to stop', async () => {
  const id = await start();
  const waiting = [await start(), await start()];
  await begin(id);
  rig.clock.now += 300_001;
  expect(await begin(waiting[0] as string)).toEqual({ refusal: { code: 'attempt_superseded' } });
  expect(await rig.answers.leases.renew([{ ...key(id), attempt: 1 }])).toEqual([]);
  await processDue(rig.deps);
  const ends = () => [id, ...waiting].map((each) => endOf(each));
  // The end of the first may have dispatched the last before that was ended: then its job is late.
  for (let rounds = 0; rounds < 3 && ends().some(({ length }) => length === 0); rounds += 1) {
    rig.clock.now += unbegunMs;
    await processDue(rig.deps);
  }
  expect(ends()).toEqual([['failed'], ['failed'], ['failed']]);
  expect(rig.notices).toContainEqual({ channel: 'worker:1', notice: { kind: 'unwanted', id, attempt: 1 } });
  expect(await rig.answers.complete(result(id, 1))).toEqual({ code: 'not_found' });
});

test('beyond the limit answers wait, the oldest goes first, and a full queue refuses', async () => {
  const ids = [await start(), await start(), await start(), await start(), await start()];
  expect(ids.map((id) => jobsOf(id))).toEqual([[1], [1], [], [], []]);
  await expect(start()).rejects.toThrow('too_many_waiting');
  await begin(ids[0] as string);
  await rig.answers.complete(result(ids[0] as string, 1));
  await untilValue(
    () => jobsOf(ids[2] as string),
    (jobs) => jobs.length > 0,
  );
  expect(jobsOf(ids[3] as string)).toEqual([]);
  await rig.cancel(key(ids[1] as string));
  await untilValue(
    () => jobsOf(ids[3] as string),
    (jobs) => jobs.length > 0,
  );
});

test('a sweep settles a stored result that its process could not', async () => {
  const id = await start();
  await begin(id);
  rig.ledger.mood = 'lost';
  expect(await rig.answers.complete(result(id, 1))).toBeUndefined();
  expect(await stateOf(id)).toBe('settling');
  expect(await begin(id, 'other')).toEqual({ refusal: { code: 'attempt_superseded' } });
  expect(await rig.cancel(key(id))).toMatchObject({ status: 'running' });
  rig.ledger.mood = 'well';
  await untilValue(
    () => endOf(id),
    (ends) => ends.length > 0,
  );
  expect(endOf(id)).toEqual(['completed']);
  expect(rig.ledger.holds.get(id)).toMatchObject({ state: 'settled', ended: 1 });
});

test('a process that does not reach credits leaves due settlements and releases to others', async () => {
  const [settling, releasing] = [await start(), await start()];
  await begin(settling);
  rig.ledger.mood = 'away';
  await rig.answers.complete(result(settling, 1));
  await rig.cancel(key(releasing));
  const dueTimes = () =>
    rig.sql('select id, extract(epoch from due)::float8 * 1000 as due from answers where id in ($1, $2)', [settling, releasing]);
  const before = await dueTimes();
  expect(before).toHaveLength(2);
  // Others may settle it at once.
  expect(before).toContainEqual({ id: settling, due: rig.clock.now });
  rig.clock.now += 60_000;
  await retrySettlements(rig.deps);
  await retryReleases(rig.deps);
  expect(await dueTimes()).toEqual(expect.arrayContaining(before));
});

test('a hold that may have been granted is released, and its id accepts nothing more', async () => {
  rig.ledger.mood = 'lost';
  const message = newMessage(rig.clock.now);
  expect(await rig.answers.accept(message)).toEqual({ refusal: { code: 'unavailable' } });
  expect(rig.ledger.holds.get(message.id)?.state).toBe('open');
  expect(await rig.answers.accept(message)).toEqual({ refusal: { code: 'unavailable' } });
  rig.ledger.mood = 'well';
  await untilValue(
    () => rig.ledger.holds.get(message.id)?.state,
    (state) => state === 'released',
  );
  expect(
    await rig.sql('select 1 from messages where conversation_id in (select id from conversations where agent_id = $1) and id = $2', [
      agentId,
      message.id,
    ]),
  ).toEqual([]);
});

test('an id whose hold was released is not accepted by an acceptance that obtained the hold before', async () => {
  const message = newMessage(rig.clock.now);
  const { hold } = rig.ledger.client;
  // The hold is made, and another process releases it before the acceptance commits.
  rig.ledger.client.hold = async (request) => {
    const granted = await hold(request);
    rig.deps.releases.releaseUnused([message]);
    await untilValue(
      () => rig.ledger.holds.get(message.id)?.state,
      (state) => state === 'released',
    );
    await untilValue(
      () => rig.deps.releases.queue.size,
      (size) => size === 0,
    );
    return granted;
  };
  expect(await rig.answers.accept(message)).toEqual({ refusal: { code: 'unavailable' } });
  rig.ledger.client.hold = hold;
  expect(await rig.sql('select 1 from messages where id = $1', [message.id])).toEqual([]);
});

test.each(['hold_released', 'hold_not_found'] as const)(
  'an answer whose hold the ledger refuses with %s fails, charged nothing',
  async (refusal) => {
    const [refused, other] = [await start(), await start()];
    await begin(refused);
    await begin(other);
    const hold = rig.ledger.holds.get(refused);
    if (refusal === 'hold_released') Object.assign(hold ?? {}, { state: 'released' });
    else rig.ledger.holds.delete(refused);
    expect(await rig.answers.complete(result(refused, 1))).toBeUndefined();
    await rig.answers.complete(result(other, 1));
    await untilValue(
      () => [endOf(refused), endOf(other)],
      (ends) => ends.every((end) => end.length > 0),
    );
    expect([endOf(refused), endOf(other)]).toEqual([['failed'], ['completed']]);
    const stored = await rig.sql<object>(
      `select id, status, credits, content from messages where id in ($1, $2) and role = 'assistant' order by status`,
      [refused, other],
    );
    expect(stored).toEqual([
      { id: other, status: 'completed', credits: charge, content: 'Three.' },
      { id: refused, status: 'failed', credits: 0, content: expect.stringContaining('could not be answered') },
    ]);
  },
);

test('overdue holds that belong to no answer are released', async () => {
  rig.ledger.holds.set('msg_unknown', { organizationId, state: 'open', deadline: rig.clock.now - 61_000, ended: 0, charged: 0 });
  const id = await start();
  await releaseOverdueHolds(rig.deps)();
  await untilValue(
    () => rig.ledger.holds.get('msg_unknown')?.state,
    (state) => state === 'released',
  );
  expect(rig.ledger.holds.get(id)?.state).toBe('open');
});

test('answers are read few at a time, and too many words for one message are refused', async () => {
  const at = rig.clock.now;
  const ids = Array.from({ length: 120 }, () => newId('msg', at));
  await rig.sql(
    `insert into messages (organization_id, environment, id, created_at, conversation_id, agent_id, user_id, role, content, status)
     select $1, $2, id, to_timestamp($4::float8 / 1000), 'conv_1', $5, 'usr_1', 'assistant', repeat('x', 100000), 'completed'
     from unnest($3::text[]) id`,
    [organizationId, environment, ids, timeOf(ids[0] as string), agentId],
  );
  const keys = ids.map((id) => ({ ...key(id), createdAt: timeOf(id) ?? 0 }));
  const steps: number[] = [];
  const counting: Sql = async (statement, values) => {
    const rows = await rig.sql<never>(statement, values);
    steps.push(rows.length);
    return rows;
  };
  expect(await readInSteps(counting, keys, ({ n }) => n)).toEqual(ids.map((_, n) => n));
  expect(steps).toEqual([50, 50, 20]);
  expect(await rig.answers.read(keys.slice(0, 60))).toHaveLength(60);
  await expect(rig.answers.read(keys)).rejects.toMatchObject({ code: 'internal' });
});

test('waiting answers are sent on in the order of their keys', async () => {
  const ids = [await start(), await start(), await start(), await start(), await start()];
  await rig.sql('update answer_lines set in_flight = 0, waiting = 3');
  // Another transaction has locked the second waiting one: a statement in key order has the first by then, and has not touched the third.
  await withDatabase(rig.databaseUrl, async (session) => {
    await session.query('begin; set local search_path = agents');
    await session.query('select 1 from answers where id = $1 for update', [ids[3]]);
    const wentOn = dispatchNext(rig.sql, [{ organizationId, environment }], { inFlight: 3, workerChannels: [] }, rig.clock.now);
    await until('it waits for the row', async () => (await countLockWaits(rig.databaseUrl)) > 0);
    const free = 'select id from answers where id = any($1) order by id for update skip locked';
    expect((await session.query<{ id: string }>(free, [ids.slice(2)])).rows.map(({ id }) => id)).toEqual([ids[3], ids[4]]);
    await session.query('commit');
    expect(await wentOn).toHaveLength(3);
  });
  await rig.sql('update answer_lines set in_flight = 5, waiting = 0');
});

test('an answer that its worker returns goes to the next worker at once', async () => {
  const id = await start();
  await begin(id);
  await rig.answers.leases.return([
    { ...key(id), attempt: 1 },
    { ...key(id), attempt: 7 },
  ]);
  expect(jobsOf(id)).toEqual([1, 2]);
  expect(await begin(id, 'next')).toMatchObject({ input: { attempt: 2 } });
});

test('a deleted agent’s answers fail at once, with more of them than one step takes', async () => {
  const ids = [await start(), await start(), await start()];
  // With these it takes a step in the transaction and two after it.
  const waiting = Array.from({ length: 1_000 }, () => newId('msg', rig.clock.now));
  await rig.sql(
    `insert into answers (organization_id, environment, id, state, due, agent_id, conversation_id, accepted_at, deadline)
     select $1, $2, id, 'waiting', deadline, $3, replace(id, 'msg_', 'conv_'), deadline - interval '5 minutes', deadline
     from unnest($4::text[]) id, to_timestamp($5::float8 / 1000) deadline`,
    [organizationId, environment, agentId, waiting, rig.clock.now + 300_000],
  );
  await rig.sql('update answer_lines set waiting = waiting + $1', [waiting.length]);
  await begin(ids[0] as string);
  const committed = await rig.store.transaction(async (transaction) => {
    const after = await rig.answers.failAnswersOfAgent(transaction, { organizationId, environment }, agentId);
    expect(endOf(ids[0] as string)).toEqual([]);
    return after;
  });
  committed();
  expect(ids.map((id) => endOf(id))).toEqual([['failed'], ['failed'], ['failed']]);
  const failures = rig.replies.flatMap(({ reply }) => (reply.kind === 'ended' && ids.includes(reply.id) ? [reply.message.failure] : []));
  expect(failures).toEqual(ids.map(() => ({ code: 'agent_deleted', message: 'The agent was deleted. No credits were charged.' })));
  expect(rig.notices).toContainEqual({ channel: 'worker:1', notice: { kind: 'unwanted', id: ids[0] as string, attempt: 1 } });
  await untilValue(
    () => ids.map((id) => rig.ledger.holds.get(id)?.state),
    (states) => states.every((state) => state === 'released'),
  );
  await untilValue(
    () => rig.sql(`select id, state from answers where state <> 'releasing'`),
    (rows) => rows.length === 0,
  );
});

test('sweeps that run at the same time share one query for due work, and a later sweep queries again', async () => {
  let [queries, elapsed] = [0, 0];
  const findShared = shareResult(
    async () => ++queries,
    () => elapsed,
  );
  expect(await Promise.all([findShared(), findShared(), findShared()])).toEqual([1, 1, 1]);
  elapsed = 600;
  expect(await findShared()).toBe(2);
});

test('the query for due work lists what is due, and is empty where the sweeps would find nothing', async () => {
  const due = () => findDueWork(rig.deps.store.sql, rig.deps.limits.inFlight, rig.clock.now);
  const nothing = { waiting: false, dispatched: false, running: false, settling: false, releasing: false, heldUp: false };
  const id = await start();
  expect(await due()).toEqual(nothing);
  rig.clock.now += unbegunMs + 1;
  expect(await due()).toEqual({ ...nothing, dispatched: true });
  await begin(id);
  expect(await due()).toEqual(nothing);
  rig.clock.now += leaseMs + 1;
  expect(await due()).toEqual({ ...nothing, running: true });
});
