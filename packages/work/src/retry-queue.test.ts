import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { RetryQueue, retryDue } from './retry-queue.ts';

interface Item {
  readonly organizationId: string;
  readonly environment: string;
  readonly id: string;
}

const item = (organizationId: string, id: number | string): Item => ({ organizationId, environment: 'live', id: `${organizationId}${id}` });
const items = (organizationId: string, count: number) => Array.from({ length: count }, (_, index) => item(organizationId, index));

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'setImmediate', 'nextTick'] });
});
afterEach(() => {
  jest.useRealTimers();
});

/** Lets the queue send what it has, and conclude it. */
async function runPending(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A sweep that waits for room in the queue, and whether it has it. */
function watchRoom(queue: RetryQueue<Item>) {
  let isThere = false;
  const waiting = queue.whenRoom().then(() => {
    isThere = true;
  });
  return { waiting, hasRoom: () => isThere };
}

/** A queue whose run is done for the items that `isDone` accepts, with the ids of each run. */
function createQueue(isDone: (item: Item) => boolean | Error | Promise<boolean>, maxSwept?: number) {
  const runs: string[][] = [];
  const background: Promise<unknown>[] = [];
  const stop = new AbortController();
  const queue = new RetryQueue<Item>({
    name: 'work',
    keyOf: ({ id }) => id,
    run: async (some) => {
      runs.push(some.map(({ id }) => id));
      return await Promise.all(some.map(isDone));
    },
    batch: {},
    runInBackground: (_, work) => background.push(work()),
    stopping: stop.signal,
    ...(maxSwept !== undefined && { maxSwept }),
  });
  return { queue, runs, stop, finish: () => Promise.all(background) };
}

test('work runs at once, in one batch, and each item only once while it is in the queue', async () => {
  const { queue, runs, finish } = createQueue(() => true);
  queue.add([item('a', 1), item('a', 2)]);
  queue.add([item('a', 2), item('b', 1)]);
  expect(queue.size).toBe(3);
  await finish();
  expect(runs.flat().toSorted()).toEqual(['a1', 'a2', 'b1']);
  expect(queue.size).toBe(0);
});

test('work that is not done is retried after growing pauses, and then left to a sweep', async () => {
  const { queue, runs, finish } = createQueue(() => false);
  queue.add([item('a', 1)]);
  for (const [attempts, pauseMs] of [250, 750, 2_000, 4_000].entries()) {
    await jest.advanceTimersByTimeAsync(pauseMs - 1);
    expect(runs).toHaveLength(attempts + 1);
    await jest.advanceTimersByTimeAsync(1);
  }
  await jest.advanceTimersByTimeAsync(1);
  await finish();
  expect(runs).toHaveLength(5);
  expect(queue.size).toBe(0);
});

test('work whose attempts are slow is left to a sweep in time, with fewer attempts', async () => {
  const { queue, runs, finish } = createQueue(
    () =>
      new Promise((resolve) => {
        setTimeout(() => resolve(false), 6_000);
      }),
  );
  queue.add([item('a', 1)]);
  for (const [passedMs, attempts] of [
    [0, 1],
    [6_000, 1],
    [250, 2],
    [6_000, 2],
    [750, 2],
  ] as const) {
    await jest.advanceTimersByTimeAsync(passedMs);
    await runPending();
    expect(runs).toHaveLength(attempts);
  }
  expect(queue.size).toBe(0);
  await finish();
});

test('work whose run throws is retried like work that is not done', async () => {
  let attempts = 0;
  const { queue, finish } = createQueue(() => {
    attempts += 1;
    return attempts === 1 ? Promise.reject(new Error('the ledger is away')) : true;
  });
  queue.add([item('a', 1)]);
  await jest.advanceTimersByTimeAsync(250);
  await finish();
  expect(attempts).toBe(2);
});

test('a stop ends the pauses', async () => {
  const { queue, runs, stop, finish } = createQueue(() => false);
  queue.add([item('a', 1)]);
  await jest.advanceTimersByTimeAsync(10);
  stop.abort();
  await jest.advanceTimersByTimeAsync(0);
  await finish();
  expect(runs.length).toBeLessThanOrEqual(2);
  expect(queue.size).toBe(0);
});

test('of a tenant whose work is stuck a sweep adds ten items, of the others all', async () => {
  const { queue, stop, finish } = createQueue(({ organizationId }) => organizationId === 'well');
  queue.add([item('stuck', 'first')]);
  await jest.advanceTimersByTimeAsync(0);
  expect(queue.addFromSweep([...items('stuck', 50), ...items('well', 50)])).toBe(60);
  expect(queue.addFromSweep(items('stuck', 100).slice(50))).toBe(0);
  stop.abort();
  await jest.advanceTimersByTimeAsync(0);
  await finish();
});

test('a sweep adds no item that is in the queue', async () => {
  const { queue, finish } = createQueue(() => true);
  expect(queue.addFromSweep(items('a', 5))).toBe(5);
  expect(queue.addFromSweep(items('a', 7))).toBe(2);
  await finish();
});

test('tenants whose work is stuck fill at most half of the queue together', async () => {
  const { queue, stop, finish } = createQueue(() => false, 20);
  queue.add([item('a', 'first'), item('b', 'first')]);
  await jest.advanceTimersByTimeAsync(0);
  expect(queue.addFromSweep([...items('a', 50), ...items('b', 50)])).toBe(10);
  stop.abort();
  await jest.advanceTimersByTimeAsync(0);
  await finish();
});

test('a tenant of whose items none was done for a second is stuck', async () => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const { queue, finish } = createQueue(() => promise);
  expect(queue.addFromSweep(items('a', 20))).toBe(20);
  await jest.advanceTimersByTimeAsync(1_001);
  expect(queue.addFromSweep(items('a', 40))).toBe(0);
  resolve(true);
  await jest.advanceTimersByTimeAsync(0);
  await finish();
});

test('a tenant is no longer stuck once an item was done', async () => {
  let isAway = true;
  const { queue, finish } = createQueue(() => !isAway);
  queue.add([item('a', 'first')]);
  await runPending();
  isAway = false;
  await jest.advanceTimersByTimeAsync(250);
  await runPending();
  expect(queue.addFromSweep(items('a', 50))).toBe(50);
  await finish();
});

test('a sweep waits while the queue is full, and goes on when an item is done', async () => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const { queue, finish } = createQueue(() => promise, 20);
  queue.addFromSweep(items('a', 20));
  const { waiting, hasRoom } = watchRoom(queue);
  await jest.advanceTimersByTimeAsync(500);
  expect(hasRoom()).toBe(false);
  resolve(true);
  await jest.advanceTimersByTimeAsync(0);
  await Promise.all([waiting, finish()]);
  expect(hasRoom()).toBe(true);
});

test('a sweep passes over pages of stuck tenants to those behind them, a bounded number at a time', async () => {
  const { queue, stop, finish } = createQueue(({ organizationId }) => organizationId === 'well');
  queue.add([item('stuck', 'first')]);
  await jest.advanceTimersByTimeAsync(0);
  queue.addFromSweep(items('stuck', 10));
  const pages = [items('stuck', 20).slice(10), items('stuck', 30).slice(20), items('well', 10)];
  expect(await retryDue(queue, 10, async () => pages.shift() ?? [])).toBe(10);
  expect(pages).toEqual([]);
  let pageCount = 0;
  const endless = async () => items('stuck', 10).map(({ id }) => item('stuck', `${id} of page ${(pageCount += 1)}`));
  expect(await retryDue(queue, 10, endless)).toBe(0);
  expect(pageCount).toBe(20 * 10);
  expect(await retryDue(queue, 10, async () => items('other', 3))).toBe(0);
  stop.abort();
  await jest.advanceTimersByTimeAsync(0);
  await finish();
});

test('a sweep takes no page while the queue is full, and a tenant that became stuck in the meantime makes room', async () => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const { queue, finish } = createQueue(() => promise, 20);
  queue.addFromSweep(items('a', 20));
  let pages = 0;
  const step = retryDue(queue, 10, async () => {
    pages += 1;
    return items('b', 5);
  });
  await jest.advanceTimersByTimeAsync(1_000);
  expect(pages).toBe(0);
  await jest.advanceTimersByTimeAsync(250);
  expect(await step).toBe(0);
  expect(queue.size).toBe(25);
  resolve(true);
  await jest.advanceTimersByTimeAsync(0);
  await finish();
});

test('tenants that became stuck with many items fill the queue to twice its size at most', async () => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const { queue, finish } = createQueue(() => promise, 20);
  queue.addFromSweep(items('a', 20));
  await jest.advanceTimersByTimeAsync(1_001);
  queue.addFromSweep(items('b', 20));
  await jest.advanceTimersByTimeAsync(1_001);
  const { waiting, hasRoom } = watchRoom(queue);
  await jest.advanceTimersByTimeAsync(500);
  expect(hasRoom()).toBe(false);
  resolve(true);
  await jest.advanceTimersByTimeAsync(0);
  await Promise.all([waiting, finish()]);
});

test('of a tenant with more than ten items of a sweep those that fail are left to a later one, of ten they are retried', async () => {
  const { queue, runs, finish } = createQueue(() => false);
  queue.addFromSweep([...items('a', 11), ...items('b', 10)]);
  await runPending();
  expect(queue.size).toBe(10);
  for (const pauseMs of [7_000, 1]) await jest.advanceTimersByTimeAsync(pauseMs);
  await finish();
  const countRuns = (tenant: string) => runs.flat().filter((id) => id.startsWith(tenant)).length;
  expect([countRuns('a'), countRuns('b')]).toEqual([11, 50]);
});

test('a tenant with work is not stuck while items of it are done, nor for the time it had none', async () => {
  const gates = new Map<string, PromiseWithResolvers<boolean>>();
  const gateOf = ({ id }: Item) => {
    const gate = Promise.withResolvers<boolean>();
    gates.set(id, gate);
    return gate.promise;
  };
  const background: Promise<unknown>[] = [];
  const queue = new RetryQueue<Item>({
    name: 'work',
    keyOf: ({ id }) => id,
    run: (some) => Promise.all(some.map(gateOf)),
    batch: { concurrency: 2 },
    runInBackground: (_, work) => background.push(work()),
    stopping: new AbortController().signal,
    maxSwept: 15,
  });
  const end = async (id: string) => {
    gates.get(id)?.resolve(true);
    await runPending();
  };
  queue.add([item('a', 1)]);
  await runPending();
  queue.add([item('a', 2)]);
  await runPending();
  await jest.advanceTimersByTimeAsync(900);
  await end('a1');
  await jest.advanceTimersByTimeAsync(900);
  expect(queue.addFromSweep(items('a', 20).slice(5))).toBe(15);
  await runPending();
  for (let n = 5; n < 20; n += 1) await end(`a${n}`);
  await queue.whenRoom();
  await end('a2');
  expect(queue.size).toBe(0);
  await jest.advanceTimersByTimeAsync(5_000);
  expect(queue.addFromSweep(items('a', 20))).toBe(20);
  await runPending();
  for (const { resolve } of gates.values()) resolve(true);
  await Promise.all(background);
});
