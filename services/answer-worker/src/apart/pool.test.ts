import { expect, test } from '@jest/globals';
import { readAnswerWorkerConfig } from '../config.ts';
import { createPlaces, type Place } from './places.ts';

const never = new AbortController().signal;

function rig(processes: number, shared: number) {
  const alive = new Set<object>();
  let most = 0;
  const places = createPlaces({
    processes,
    shared,
    idleMs: 60_000,
    start() {
      const { promise: gone, resolve } = Promise.withResolvers<void>();
      const end = () => {
        alive.delete(process);
        resolve();
        return gone;
      };
      const process = { pid: 0, gone, run: () => Promise.resolve(), end };
      alive.add(process);
      most = Math.max(most, alive.size);
      return process;
    },
  });
  return { places, most: () => most };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** What has got a place so far. */
function taking({ places }: ReturnType<typeof rig>, company: 'alone' | 'shared', count: number): Place[] {
  const taken: Place[] = [];
  for (let at = 0; at < count; at += 1) void places.take(company, never).then((place) => place && taken.push(place));
  return taken;
}

test('shared answers fill all processes, and no more than fit', async () => {
  const all = rig(4, 50);
  const taken = taking(all, 'shared', 250);
  await settled();
  expect([taken.length, new Set(taken).size, all.most()]).toEqual([200, 4, 4]);
  await all.places.end();
});

test('few shared answers leave a process for one that runs alone, which shares it with none', async () => {
  const all = rig(4, 50);
  const shared = taking(all, 'shared', 30);
  const alone = taking(all, 'alone', 3);
  await settled();
  expect([new Set(shared).size, alone.length, all.most()]).toEqual([3, 1, 4]);
  expect(shared).not.toContain(alone[0]);
  all.places.leave(alone[0] as Place);
  await settled();
  expect([alone.length, alone[1]]).toEqual([2, alone[0]]);
  await all.places.end();
});

test.each([1, 4])(
  'with %i processes, shared answers that keep coming do not keep one that runs alone waiting for ever',
  async (processes) => {
    const all = rig(processes, 2);
    const shared = taking(all, 'shared', processes * 2 + 20);
    const alone = taking(all, 'alone', 1);
    await settled();
    for (let left = 0; left < processes * 2; left += 1) {
      all.places.leave(shared[left] as Place);
      await settled();
    }
    expect(alone).toHaveLength(1);
    await all.places.end();
  },
);

test.each([1, 4])('with %i processes, answers that run alone and keep coming let shared ones in after one of them', async (processes) => {
  const all = rig(processes, 50);
  const alone = taking(all, 'alone', 100);
  const shared = taking(all, 'shared', 50);
  await settled();
  expect(alone).toHaveLength(processes);
  all.places.leave(alone[0] as Place);
  await settled();
  expect([alone.length, shared.length, new Set(shared).size]).toEqual([processes, 50, 1]);
  await all.places.end();
});

test('an answer that gives up waiting takes no place', async () => {
  const all = rig(1, 1);
  const [first] = [await all.places.take('alone', never)];
  const stopping = new AbortController();
  const second = all.places.take('alone', stopping.signal);
  stopping.abort();
  expect(await second).toBeUndefined();
  const third = all.places.take('shared', never);
  all.places.leave(first as Place);
  expect(await third).toBe(first);
  await all.places.end();
});

test('by default the answers of a dead worker go on at once, and those of a full shared process that died in three rounds', async () => {
  const {
    ANSWER_APART_PROCESSES: processes,
    ANSWER_APART_SHARED: shared,
    ANSWER_CONCURRENCY: concurrency,
  } = readAnswerWorkerConfig({
    OPS_PORT: '0',
    SERVICE_SECRET: 'a-service-secret-that-is-long-enough',
    AGENTS_ADDRESS: 'agents:1',
    REDIS_URL: 'redis://127.0.0.1:1',
  });
  const all = rig(processes, shared);
  const together = taking(all, 'shared', concurrency);
  await settled();
  expect(together).toHaveLength(concurrency);
  for (const place of together) all.places.leave(place);
  const alone = taking(all, 'alone', shared - 1);
  let rounds = 0;
  for (let left = 0; left < shared - 1; rounds += 1) {
    await settled();
    const round = alone.slice(left);
    left = alone.length;
    for (const place of round) all.places.leave(place);
  }
  expect(rounds).toBeLessThanOrEqual(3);
  await all.places.end();
});
