import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { processDue, retryReleases } from '../../src/answers/sweeps.ts';
import { doubtfulMs, leaseMs, maxLostLeases, unbegunMs } from '../../src/shared/answer.ts';
import { type Composition, compose, environment, newMessage, organizationId, untilValue } from './support/compose.ts';

let rig: Composition;
beforeAll(async () => {
  rig = await compose();
  Object.assign(rig.deps, { health: { success: () => undefined, failure: () => undefined, isHealthyFor: () => true } });
});
afterAll(() => rig.stop());
afterEach(() => {
  rig.known = undefined;
});

const key = (id: string) => ({ organizationId, environment, id }) as const;
const begin = (id: string, isolation?: 'shared' | 'alone') =>
  rig.answers.begin({ ...key(id), claim: `claim ${Math.random()}`, isolation, workerChannel: 'worker:1' });
const dispatchesIn = (jobs: Composition['jobs'], id: string) =>
  jobs.filter(({ answerId }) => answerId === id).map(({ dispatch }) => dispatch);
const failureOf = (id: string) =>
  rig.replies.flatMap(({ reply }) => (reply.kind === 'ended' && reply.id === id ? [reply.message.failure?.code] : []));

async function start(): Promise<string> {
  rig.clock.now += 1;
  const message = newMessage(rig.clock.now);
  const outcome = await rig.answers.accept(message);
  if (!('started' in outcome)) throw new Error(outcome.refusal.code);
  return message.id;
}

async function loseLease(): Promise<void> {
  rig.clock.now += leaseMs + 1;
  await processDue(rig.deps);
}

test('after three lost leases in a row an answer fails with a code of its own, is not charged, and its hold is released', async () => {
  const id = await start();
  for (let attempt = 1; attempt <= maxLostLeases; attempt += 1) {
    expect(await begin(id, ([undefined, 'shared', 'alone'] as const)[attempt - 1])).toMatchObject({ input: { attempt } });
    await loseLease();
  }
  expect(failureOf(id)).toEqual(['answer_abandoned']);
  expect(dispatchesIn(rig.apartJobs, id)).toEqual([2, 3]);
  expect(await begin(id, 'alone')).toEqual({ refusal: { code: 'not_found' } });
  await untilValue(
    () => rig.ledger.holds.get(id),
    (hold) => hold?.state === 'released',
  );
  expect(rig.ledger.holds.get(id)).toMatchObject({ charged: 0, ended: 1 });
});

test('an answer that has lost one lease shares a process with others like it, and one that has lost two is begun only alone', async () => {
  const [id, alone] = [await start(), await start()];
  for (const each of [id, alone]) await begin(each);
  await loseLease();
  expect(await begin(id)).toEqual({ refusal: { code: 'attempt_superseded' } });
  expect(await begin(id, 'shared')).toMatchObject({ input: { attempt: 2 } });
  expect(await begin(alone, 'alone')).toMatchObject({ input: { attempt: 2 } });
  await loseLease();
  for (const isolation of [undefined, 'shared'] as const)
    expect(await begin(id, isolation)).toEqual({ refusal: { code: 'attempt_superseded' } });
  expect(await begin(id, 'alone')).toMatchObject({ input: { attempt: 3 } });
  // The job says what its answer may share; one without the word runs alone.
  expect(rig.apartJobs.filter(({ answerId }) => answerId === id)).toMatchObject([{ dispatch: 2, shared: true }, { dispatch: 3 }]);
  expect(rig.apartJobs.filter(({ answerId }) => answerId === id)[1]).not.toHaveProperty('shared');
});

test('an answer that has lost a lease is not begun by a worker itself, whichever job it comes by', async () => {
  const id = await start();
  await begin(id);
  await loseLease();
  expect([dispatchesIn(rig.jobs, id), dispatchesIn(rig.apartJobs, id)]).toEqual([[1, 2], [2]]);
  expect(await begin(id)).toEqual({ refusal: { code: 'attempt_superseded' } });
  expect(await begin(id, 'alone')).toMatchObject({ input: { attempt: 2 } });
});

test('an attempt that has lost its lease does not fail the answer, which waits for its next attempt', async () => {
  const id = await start();
  await begin(id);
  await loseLease();
  expect(await rig.answers.fail([{ ...key(id), attempt: 1, failure: null }])).toEqual([{ code: 'attempt_superseded' }]);
  expect(failureOf(id)).toEqual([]);
  expect(await begin(id, 'alone')).toMatchObject({ input: { attempt: 2 } });
});

test('an expired lease is not taken over by a second job: it counts first', async () => {
  const id = await start();
  await begin(id);
  rig.clock.now += leaseMs + 1;
  expect(await begin(id, 'alone')).toEqual({ refusal: { code: 'attempt_superseded' } });
});

test('returned attempts and lost jobs are no lost leases, however many there are', async () => {
  const id = await start();
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    expect(await begin(id)).toMatchObject({ input: { attempt } });
    await rig.answers.leases.return([{ ...key(id), attempt }]);
    rig.known = ({ answerId }) => answerId !== id;
    rig.clock.now += unbegunMs + 1;
    await processDue(rig.deps);
  }
  expect(dispatchesIn(rig.apartJobs, id)).toEqual([]);
  expect(failureOf(id)).toEqual([]);
});

test('lost leases count in a row: an attempt that its worker returns begins the count again', async () => {
  const id = await start();
  for (const isolation of [undefined, 'shared'] as const) {
    await begin(id, isolation);
    await loseLease();
  }
  await begin(id, 'alone');
  await rig.answers.leases.return([{ ...key(id), attempt: 3 }]);
  expect(dispatchesIn(rig.apartJobs, id)).toEqual([2, 3]);
  for (const isolation of [undefined, 'shared'] as const) {
    expect(await begin(id, isolation)).toHaveProperty('input');
    await loseLease();
  }
  expect(failureOf(id)).toEqual([]);
  await begin(id, 'alone');
  await loseLease();
  expect(failureOf(id)).toEqual(['answer_abandoned']);
});

test('a process that died with an attempt has lost its lease at once; an older attempt’s death changes nothing', async () => {
  const id = await start();
  await begin(id);
  await rig.answers.leases.lose([{ ...key(id), attempt: 1 }]);
  expect(dispatchesIn(rig.apartJobs, id)).toEqual([2]);
  await begin(id, 'alone');
  await rig.answers.leases.lose([{ ...key(id), attempt: 1 }]);
  await rig.answers.leases.lose([{ ...key(id), attempt: 2 }]);
  await begin(id, 'alone');
  expect(failureOf(id)).toEqual([]);
  await rig.answers.leases.lose([{ ...key(id), attempt: 3 }]);
  expect(failureOf(id)).toEqual(['answer_abandoned']);
});

test('a process that died between the third lost lease and the end leaves an answer that the sweep ends', async () => {
  const id = await start();
  await rig.sql('update answers set lost_leases = $2 where id = $1', [id, maxLostLeases]);
  expect(await begin(id, 'alone')).toEqual({ refusal: { code: 'attempt_superseded' } });
  rig.clock.now += unbegunMs + 1;
  await processDue(rig.deps);
  expect(failureOf(id)).toEqual(['answer_abandoned']);
});

test('an answer that ends before a worker has begun it takes its job along, from the queue that the job is in', async () => {
  const [plain, apart] = [await start(), await start()];
  await begin(apart);
  await loseLease();
  await rig.cancel(key(plain));
  await rig.cancel(key(apart));
  await untilValue(
    () => dispatchesIn(rig.removed, apart),
    (dispatches) => dispatches.length > 0,
  );
  expect([dispatchesIn(rig.removed, plain), dispatchesIn(rig.removed, apart)]).toEqual([[1], [2]]);
  await retryReleases(rig.deps);
});

test('a job that waits for a worker keeps its place, however long; one that a worker has taken is doubtful', async () => {
  const [waiting, taken] = [await start(), await start()];
  rig.untaken.add(waiting);
  for (let waited = 0; waited < 3 * doubtfulMs; waited += unbegunMs) {
    rig.clock.now += unbegunMs + 1;
    await processDue(rig.deps);
  }
  expect(dispatchesIn(rig.jobs, waiting)).toEqual([1]);
  expect(dispatchesIn(rig.jobs, taken).slice(0, 2)).toEqual([1, 2]);
  rig.untaken.delete(waiting);
  rig.clock.now += doubtfulMs;
  await processDue(rig.deps);
  expect(dispatchesIn(rig.jobs, waiting)).toEqual([1, 2]);
});
