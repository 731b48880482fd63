import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { AttemptKey } from '../shared/answer.ts';
import { type Assignment, type Offer, type Reservation, WaitingWorkers } from './dispatch.ts';
import type { AttemptInput } from './store/sql.ts';

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'setImmediate', 'nextTick'] });
});
afterEach(() => {
  jest.useRealTimers();
});

function createWorkers() {
  const takenBack: string[] = [];
  const stop = new AbortController();
  const workers = new WaitingWorkers(
    { stopping: stop.signal, onStop: () => undefined },
    { takeBack: (attempts: readonly AttemptKey[]) => takenBack.push(...attempts.map(({ id }) => id)) },
  );
  const wait = async (offer: Partial<Offer> = {}, signal = new AbortController().signal) => {
    const assignments = await workers.wait({ workerChannel: 'w', capacity: 1, receivedIds: [], stopping: false, ...offer }, signal);
    return assignments.map(({ input }) => input.id);
  };
  return { workers, takenBack, stop, wait };
}

function assignment(id: string, message = ''): Assignment {
  const input = {
    organizationId: 'org_1',
    environment: 'live',
    id,
    attempt: 1,
    message,
    contextJson: '',
    tables: [] as string[],
  } as unknown as AttemptInput;
  return { input, history: [] };
}

function assignAll(reservations: readonly Reservation[], assignments: readonly Assignment[]): void {
  for (const [index, each] of assignments.entries()) reservations[index]?.assign(each);
}

test('answers that begin together leave in as few responses as the capacity of each call allows', async () => {
  const { workers, wait } = createWorkers();
  const waits = [wait({ capacity: 2 }), wait({ capacity: 2 })];
  const reservations = workers.reserve(9);
  expect(reservations).toHaveLength(4);
  assignAll(
    reservations,
    ['a', 'b', 'c'].map((id) => assignment(id)),
  );
  expect(await Promise.all(waits)).toEqual([['a', 'b'], ['c']]);
});

test('a response has at most half a million characters, or one answer', async () => {
  const { workers, wait } = createWorkers();
  const waits = [wait({ capacity: 3 }), wait({ capacity: 3 }), wait({ capacity: 3 })];
  const half = 'x'.repeat(256 * 1024);
  assignAll(workers.reserve(4), [assignment('a', `${half}${half}x`), assignment('b', half), assignment('c', half), assignment('d', 'x')]);
  expect(await Promise.all(waits)).toEqual([['a'], ['b', 'c'], ['d']]);
});

test('the tables of a scope count for the size of a response', async () => {
  const { workers, wait } = createWorkers();
  const waits = [wait({ capacity: 3 }), wait({ capacity: 3 })];
  const wide = (id: string) => {
    const { input, history } = assignment(id);
    return { input: { ...input, tables: Array.from({ length: 128 }, () => 'x'.repeat(2_000)) }, history };
  };
  assignAll(workers.reserve(3), ['a', 'b', 'c'].map(wide));
  expect(await Promise.all(waits)).toEqual([['a', 'b'], ['c']]);
});

test('capacity that is reserved or assigned is not free, and released capacity is', async () => {
  const { workers, wait } = createWorkers();
  const waiting = wait({ capacity: 3 });
  const [first, second] = workers.reserve(2);
  first?.assign(assignment('a'));
  expect(workers.reserve(9)).toHaveLength(1);
  second?.release();
  const [third] = workers.reserve(9);
  third?.assign(assignment('b'));
  expect(workers.reserve(9)).toEqual([]);
  expect(await waiting).toEqual(['a', 'b']);
});

test('an answer whose call has ended waits for the next call of its worker', async () => {
  const { workers, wait } = createWorkers();
  const client = new AbortController();
  const waiting = wait({ capacity: 2 }, client.signal);
  const [reservation, unused] = workers.reserve(2);
  client.abort();
  expect(await waiting).toEqual([]);
  reservation?.assign(assignment('a'));
  unused?.release();
  await new Promise((resolve) => setImmediate(resolve));
  expect(await wait()).toEqual(['a']);
});

test('the end of one call leaves the capacity of the other calls of its worker', async () => {
  const { workers, wait } = createWorkers();
  const client = new AbortController();
  const waits = [wait({}, client.signal), wait()];
  client.abort();
  workers.reserve(1)[0]?.assign(assignment('a'));
  expect(await Promise.all(waits)).toEqual([[], ['a']]);
});

test('a call whose client has left before, or that offers no capacity, gets nothing', async () => {
  const { workers, wait } = createWorkers();
  expect(await wait({}, AbortSignal.abort())).toEqual([]);
  expect(await wait({ capacity: 0 })).toEqual([]);
  expect(workers.reserve(1)).toEqual([]);
});

test('an answer that its worker does not confirm within two seconds is taken back once, and not sent later', async () => {
  const { workers, takenBack, wait } = createWorkers();
  const client = new AbortController();
  const waits = [wait({}, client.signal), wait({ workerChannel: 'confirming' })];
  const [unsent, confirmed] = workers.reserve(2);
  client.abort();
  unsent?.assign(assignment('unsent'));
  confirmed?.assign(assignment('confirmed'));
  expect(await Promise.all(waits)).toEqual([[], ['confirmed']]);
  expect(await wait({ workerChannel: 'confirming', capacity: 0, receivedIds: ['confirmed'] })).toEqual([]);
  await jest.advanceTimersByTimeAsync(1_999);
  expect(takenBack).toEqual([]);
  await jest.advanceTimersByTimeAsync(1);
  expect(takenBack).toEqual(['unsent']);
  expect(jest.getTimerCount()).toBe(0);
  const later = wait();
  await jest.advanceTimersByTimeAsync(10_000);
  expect(await later).toEqual([]);
  expect(takenBack).toEqual(['unsent']);
});

test('a call ends after ten seconds, leaves nothing behind, and offers its capacity no longer', async () => {
  const { workers, wait } = createWorkers();
  const { signal } = new AbortController();
  const waiting = wait({}, signal);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(await waiting).toEqual([]);
  const answered = wait({}, signal);
  workers.reserve(1)[0]?.assign(assignment('a'));
  expect(await answered).toEqual(['a']);
  await wait({ capacity: 0, receivedIds: ['a'] });
  await jest.advanceTimersByTimeAsync(500);
  expect([jest.getTimerCount(), getEventListeners(signal, 'abort'), workers.reserve(1)]).toEqual([0, [], []]);
});

test.each(['worker', 'process'] as const)('when a %s stops its calls end, and what it has not got is taken back', async (stopped) => {
  const { workers, takenBack, stop, wait } = createWorkers();
  const waiting = wait({ capacity: 2 });
  const [early, late] = workers.reserve(2);
  early?.assign(assignment('early'));
  if (stopped === 'process') stop.abort();
  else expect(await wait({ stopping: true })).toEqual([]);
  late?.assign(assignment('late'));
  expect(await waiting).toEqual([]);
  expect(await wait({ stopping: stopped === 'worker' })).toEqual([]);
  expect(workers.reserve(1)).toEqual([]);
  await jest.advanceTimersByTimeAsync(2_000);
  expect(takenBack.toSorted()).toEqual(['early', 'late']);
});
