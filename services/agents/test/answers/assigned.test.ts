import { countLockWaits, until, withDatabase } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Assignment, Offer } from '../../src/answers/dispatch.ts';
import { loadStepScope } from '../../src/data-sources/store/steps.ts';
import { type Composition, compose, environment, newMessage, organizationId, untilValue } from './support/compose.ts';

let rig: Composition;
let serial = 0;
let ends: AbortController;
beforeAll(async () => {
  rig = await compose({ limits: { inFlight: 3, waiting: 100 } });
});
afterAll(() => rig.stop());
afterEach(async () => {
  ends?.abort();
  await rig.sql('delete from answers', []);
  await rig.sql('update answer_lines set waiting = 0, in_flight = 0', []);
});

const newWorker = () => `worker:${++serial}`;

function waitAs(workerChannel: string, offer: Partial<Offer> = {}): Promise<readonly Assignment[]> {
  ends = new AbortController();
  return rig.answers.wait({ workerChannel, capacity: 10, receivedIds: [], stopping: false, ...offer }, ends.signal);
}

async function accept(more: Parameters<typeof newMessage>[1] = {}): Promise<{ id: string; conversationId: string }> {
  rig.clock.now += 1;
  const outcome = await rig.answers.accept(newMessage(rig.clock.now, more));
  if (!('started' in outcome)) throw new Error(outcome.refusal.code);
  return { id: outcome.started.answerId, conversationId: outcome.started.conversationId };
}

const stateOf = async (id: string) =>
  (await rig.sql<{ state: string; attempt: number }>('select state, attempt from answers where id = $1', [id]))[0];
const jobsOf = (id: string) => rig.jobs.filter(({ answerId }) => answerId === id).map(({ dispatch }) => dispatch);
const complete = (id: string, attempt = 1) =>
  rig.answers.complete({
    ...{ organizationId, environment, id, attempt },
    content: 'Seven.',
    contentType: 'markdown',
    inputTokens: 1,
    outputTokens: 1,
    queries: [],
    record: null,
    refused: false,
  });

test('an accepted answer begins for a worker that waits, without a job, with all that its attempt needs', async () => {
  const waiting = waitAs(newWorker());
  const { id, conversationId } = await accept({ contextJson: '{"a":1}', stream: true, traceparent: 't' });
  const [assignment, ...more] = await waiting;
  expect(more).toEqual([]);
  expect(assignment?.input).toMatchObject({
    id,
    attempt: 1,
    conversationId,
    message: 'How many orders?',
    contextJson: '{"a":1}',
    stream: true,
  });
  expect(assignment?.input).toMatchObject({ systemPrompt: 'Be brief.', tables: ['orders'], readOnly: true, replyChannels: ['replies:1'] });
  expect(assignment?.history).toEqual([]);
  expect([await stateOf(id), jobsOf(id)]).toEqual([{ state: 'running', attempt: 1 }, []]);
  expect(await complete(id)).toBeUndefined();
  await untilValue(
    () => rig.replies.some(({ reply }) => reply.kind === 'ended' && reply.id === id),
    (hasEnded) => hasEnded,
  );
});

test('the input of a begun attempt is the same, whichever way the answer came to its worker', async () => {
  const waiting = waitAs(newWorker());
  const assigned = await accept();
  const [byAssignment] = await waiting;
  const queued = await accept();
  const claim = { organizationId, environment, id: queued.id, claim: 'c', workerChannel: 'worker:x' } as const;
  const byJob = await rig.answers.begin(claim);
  if (!('input' in byJob)) throw new Error('not begun');
  const own = { id: '', claim: '', deadline: 0, conversationId: '' };
  expect({ ...byAssignment?.input, ...own }).toEqual({ ...byJob.input, ...own });
  expect(jobsOf(queued.id)).toEqual([1]);
  expect(assigned.id).toBe(byAssignment?.input.id);
});

test('a list that holds null since a former version reaches its worker without it, whichever way the answer comes', async () => {
  await rig.sql(`update agents set tables = '{orders,NULL}'`, []);
  const tables = ['orders', 'NULL'];
  try {
    const waiting = waitAs(newWorker());
    const assigned = await accept();
    expect((await waiting)[0]?.input).toMatchObject({ id: assigned.id, tables });
    expect(await loadStepScope(rig.sql, { organizationId, environment, id: assigned.id, attempt: 1 })).toMatchObject({ tables });

    const queued = [await accept(), await accept()];
    for (const { id } of queued) {
      const byJob = await rig.answers.begin({ organizationId, environment, id, claim: 'c', workerChannel: 'worker:x' });
      expect(byJob).toMatchObject({ input: { tables } });
    }

    const last = await accept();
    expect(await stateOf(last.id)).toMatchObject({ state: 'waiting' });
    const waitingAgain = waitAs(newWorker());
    await complete(assigned.id);
    expect((await waitingAgain)[0]?.input).toMatchObject({ id: last.id, tables });
  } finally {
    await rig.sql(`update agents set tables = '{orders}'`, []);
  }
});

test('an attempt gets the history of the conversation that its message continues', async () => {
  const first = await accept();
  await rig.answers.begin({ organizationId, environment, id: first.id, claim: 'c', workerChannel: 'worker:x' });
  await complete(first.id);
  await untilValue(
    () => stateOf(first.id),
    (row) => row === undefined,
  );
  const waiting = waitAs(newWorker());
  await accept({ conversationId: first.conversationId });
  expect((await waiting)[0]?.history).toEqual([
    { role: 'user', content: 'How many orders?' },
    { role: 'assistant', content: 'Seven.' },
  ]);
});

test('an answer beyond the capacity of workers gets a job, and one beyond the limit of its organization waits', async () => {
  const waiting = waitAs(newWorker(), { capacity: 1 });
  const ids: string[] = [];
  for (let count = 0; count < 4; count += 1) ids.push((await accept()).id);
  expect((await waiting).map(({ input }) => input.id)).toEqual([ids[0]]);
  expect(await Promise.all(ids.map(async (id) => (await stateOf(id))?.state))).toEqual(['running', 'dispatched', 'dispatched', 'waiting']);
  expect(ids.map(jobsOf)).toEqual([[], [1], [1], []]);
});

test('an answer that has to wait is not assigned, and the capacity is free again', async () => {
  for (let count = 0; count < 3; count += 1) await accept();
  const waiting = waitAs(newWorker(), { capacity: 1 });
  const late = await accept();
  expect((await stateOf(late.id))?.state).toBe('waiting');
  await rig.sql('delete from answers', []);
  await rig.sql('update answer_lines set waiting = 0, in_flight = 0', []);
  const { id } = await accept();
  expect((await waiting).map(({ input }) => input.id)).toEqual([id]);
});

test('an answer does not go before those that wait, although the organization has room for one more', async () => {
  const { waiting } = await acceptBeyondLimit(1);
  await rig.sql('update answer_lines set in_flight = 2', []);
  const late = await accept();
  expect((await stateOf(late.id))?.state).toBe('waiting');
  await rig.deps.dispatcher.dispatchMissed();
  expect([await stateOf(waiting[0] as string), await stateOf(late.id)]).toMatchObject([{ state: 'dispatched' }, { state: 'waiting' }]);
});

test('an attempt that its worker does not confirm is taken back and gets a job; one that it confirms is not', async () => {
  const [frozen, healthy] = [newWorker(), newWorker()];
  const waitingFrozen = waitAs(frozen);
  const unconfirmed = await accept();
  expect(await waitingFrozen).toHaveLength(1);
  const waitingHealthy = waitAs(healthy);
  const confirmed = await accept();
  expect(await waitingHealthy).toHaveLength(1);
  expect(await waitAs(healthy, { capacity: 0, receivedIds: [confirmed.id] })).toEqual([]);
  await untilValue(
    () => jobsOf(unconfirmed.id),
    (jobs) => jobs.length > 0,
  );
  expect(await stateOf(unconfirmed.id)).toEqual({ state: 'dispatched', attempt: 1 });
  // The frozen worker resumes: another attempt may have the answer by now.
  expect(await complete(unconfirmed.id)).toEqual({ code: 'attempt_superseded' });
  expect([await stateOf(confirmed.id), jobsOf(confirmed.id)]).toEqual([{ state: 'running', attempt: 1 }, []]);
});

test('a worker that stops gets no more answers, and its waits end', async () => {
  const worker = newWorker();
  const waiting = waitAs(worker);
  expect(await waitAs(worker, { capacity: 0, stopping: true })).toEqual([]);
  expect(await waiting).toEqual([]);
  const { id } = await accept();
  expect(jobsOf(id)).toEqual([1]);
});

test('an attempt whose worker stops while the answer is being accepted is taken back at once', async () => {
  const worker = newWorker();
  const waiting = waitAs(worker);
  // Reserving follows the hold, so the transaction that blocks the acceptance begins before it and ends after the stop.
  const { id } = await withDatabase(rig.databaseUrl, async (session) => {
    await session.query('begin; set local search_path = agents');
    await session.query('select 1 from answer_lines for update');
    const accepting = accept();
    await until('the statement waits', async () => (await countLockWaits(rig.databaseUrl)) > 0);
    expect(await waitAs(worker, { capacity: 0, stopping: true })).toEqual([]);
    expect(await waiting).toEqual([]);
    await session.query('commit');
    return await accepting;
  });
  await untilValue(
    () => jobsOf(id),
    (jobs) => jobs.length > 0,
  );
  expect(jobsOf(id)).toEqual([2]);
});

test('answers go to the worker with the most free capacity', async () => {
  const [small, large] = [waitAs(newWorker(), { capacity: 1 }), waitAs(newWorker(), { capacity: 3 })];
  await accept();
  expect(await large).toHaveLength(1);
  await accept();
  expect(await small).toHaveLength(1);
});

/** Fills the organization's answers in flight, and lets some more wait. */
async function acceptBeyondLimit(
  waiting: number,
  more: Parameters<typeof newMessage>[1] = {},
): Promise<{ busy: string[]; waiting: string[] }> {
  const ids: string[] = [];
  for (let count = 0; count < 3; count += 1) ids.push((await accept()).id);
  for (let count = 0; count < waiting; count += 1) ids.push((await accept(more)).id);
  return { busy: ids.slice(0, 3), waiting: ids.slice(3) };
}

async function endOne(id: string): Promise<void> {
  await rig.answers.begin({ organizationId, environment, id, claim: 'c', workerChannel: 'worker:x' });
  expect(await complete(id)).toBeUndefined();
}

test('a waiting answer begins for a worker that waits when another answer ends, without a job', async () => {
  const { busy, waiting } = await acceptBeyondLimit(2, { contextJson: '{"a":1}', stream: true, traceparent: 't' });
  const worker = newWorker();
  const wait = waitAs(worker);
  await endOne(busy[0] as string);
  const [assignment, ...others] = await wait;
  expect(others).toEqual([]);
  expect(assignment?.input).toMatchObject({ id: waiting[0], attempt: 1, contextJson: '{"a":1}', stream: true, traceparent: 't' });
  expect(assignment?.input).toMatchObject({ systemPrompt: 'Be brief.', tables: ['orders'], readOnly: true, replyChannels: ['replies:1'] });
  expect([await stateOf(waiting[0] as string), jobsOf(waiting[0] as string)]).toEqual([{ state: 'running', attempt: 1 }, []]);
  expect(await stateOf(waiting[1] as string)).toEqual({ state: 'waiting', attempt: 0 });
  const [row] = await rig.sql<{ worker_channel: string; lease: number }>(
    'select worker_channel, round(extract(epoch from due) * 1000 - $2::float8)::integer as lease from answers where id = $1',
    [waiting[0], rig.clock.now],
  );
  expect(row).toEqual({ worker_channel: worker, lease: 15_000 });
  expect(await complete(waiting[0] as string)).toBeUndefined();
});

test('the input of a waiting answer is the same, whether it begins when it is dispatched or by its job', async () => {
  // The data sources of other tenants do not count.
  await rig.sql(
    `insert into data_sources (organization_id, environment, version, url_sealed, created_at, updated_at)
     values ($1, 'live', 7, 'x', now(), now()), ($1, 'test', 8, 'x', now(), now()), ('org_2', 'live', 9, 'x', now(), now())`,
    [organizationId],
  );
  const { busy, waiting } = await acceptBeyondLimit(2);
  const wait = waitAs(newWorker(), { capacity: 1 });
  await endOne(busy[0] as string);
  const [byAssignment] = await wait;
  await endOne(busy[1] as string);
  await untilValue(
    () => jobsOf(waiting[1] as string),
    (jobs) => jobs.length > 0,
  );
  const queued = { organizationId, environment, id: waiting[1] as string } as const;
  const byJob = await rig.answers.begin({ ...queued, claim: 'c', workerChannel: 'worker:x' });
  if (!('input' in byJob)) throw new Error('not begun');
  const own = { id: '', claim: '', deadline: 0, conversationId: '' };
  expect({ ...byAssignment?.input, ...own }).toMatchObject({ ...byJob.input, ...own, sourceVersion: 7 });
  // A data source that was removed keeps its row.
  await rig.sql('update data_sources set url_sealed = null', []);
  expect(await rig.answers.begin({ ...byJob.input, workerChannel: 'worker:x' })).toMatchObject({
    input: { sourceVersion: 0 },
  });
  await rig.sql('delete from data_sources', []);
});

test('a dispatched answer beyond the capacity of workers gets a job, and the one with the best priority begins', async () => {
  const { busy, waiting } = await acceptBeyondLimit(3);
  await rig.sql(`update answer_lines set in_flight = 0`, []);
  await rig.sql(`delete from answers where id = any($1)`, [busy]);
  const wait = waitAs(newWorker(), { capacity: 1 });
  expect(await rig.deps.dispatcher.dispatchMissed()).toBe(1);
  expect((await wait).map(({ input }) => input.id)).toEqual([waiting[0]]);
  expect(await Promise.all(waiting.map(async (id) => (await stateOf(id))?.state))).toEqual(['running', 'dispatched', 'dispatched']);
  await untilValue(
    () => waiting.map(jobsOf),
    (jobs) => jobs[2]?.length === 1,
  );
  expect(waiting.map(jobsOf)).toEqual([[], [1], [1]]);
});

test('a waiting answer that continues a conversation begins with its history', async () => {
  const first = await accept();
  await endOne(first.id);
  await untilValue(
    () => stateOf(first.id),
    (row) => row === undefined,
  );
  const { busy, waiting } = await acceptBeyondLimit(1, { conversationId: first.conversationId });
  const wait = waitAs(newWorker());
  await endOne(busy[0] as string);
  const [assignment] = await wait;
  expect(assignment?.input.id).toBe(waiting[0]);
  expect(assignment?.history.map(({ content }) => content)).toEqual(['How many orders?', 'Seven.']);
});

test('a waiting answer whose agent was deleted gets a job, whose beginning ends it, and the capacity stays free', async () => {
  const { busy, waiting } = await acceptBeyondLimit(2);
  await rig.sql(`update answers set agent_id = 'agt_deleted' where id = $1`, [waiting[0]]);
  const wait = waitAs(newWorker(), { capacity: 1 });
  await endOne(busy[0] as string);
  await untilValue(
    () => jobsOf(waiting[0] as string),
    (jobs) => jobs.length > 0,
  );
  expect((await stateOf(waiting[0] as string))?.state).toBe('dispatched');
  await endOne(busy[1] as string);
  expect((await wait).map(({ input }) => input.id)).toEqual([waiting[1]]);
});

test('a dispatch that fails leaves the capacity free', async () => {
  const { busy, waiting } = await acceptBeyondLimit(1);
  await rig.sql('delete from answers where id = $1', [busy[0]]);
  await rig.sql('update answer_lines set in_flight = 2', []);
  const wait = waitAs(newWorker(), { capacity: 1 });
  await rig.sql('alter table answer_lines add constraint refused check (in_flight < 3)', []);
  try {
    await expect(rig.deps.dispatcher.dispatchMissed()).rejects.toThrow('refused');
  } finally {
    await rig.sql('alter table answer_lines drop constraint refused', []);
  }
  await rig.deps.dispatcher.dispatchMissed();
  expect((await wait).map(({ input }) => input.id)).toEqual([waiting[0]]);
});
