import { expect, test } from '@jest/globals';
import type { Isolation } from '../answers-api.ts';
import { readAnswerWorkerConfig } from '../config.ts';
import { type PooledProcess, ProcessPool } from './pool.ts';

const never = new AbortController().signal;

function rig(processes: number, shared: number) {
  const alive = new Set<object>();
  let most = 0;
  const pool = new ProcessPool({
    processes,
    shared,
    idleMs: 60_000,
    start() {
      const { promise: ended, resolve } = Promise.withResolvers<void>();
      const end = () => {
        alive.delete(process);
        resolve();
        return ended;
      };
      const process = { pid: 0, ended, run: () => Promise.resolve(), end };
      alive.add(process);
      most = Math.max(most, alive.size);
      return process;
    },
  });
  return { pool, most: () => most };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** The processes that were acquired so far. */
function acquire({ pool }: ReturnType<typeof rig>, isolation: Isolation, count: number): PooledProcess[] {
  const acquired: PooledProcess[] = [];
  for (let at = 0; at < count; at += 1) void pool.acquire(isolation, never).then((pooled) => pooled && acquired.push(pooled));
  return acquired;
}

test('shared answers fill all processes, and no more than fit', async () => {
  const all = rig(4, 50);
  const acquired = acquire(all, 'shared', 250);
  await nextTurn();
  expect([acquired.length, new Set(acquired).size, all.most()]).toEqual([200, 4, 4]);
  await all.pool.end();
});

test('few shared answers leave one process free for an answer that runs alone', async () => {
  const all = rig(4, 50);
  const shared = acquire(all, 'shared', 30);
  const alone = acquire(all, 'alone', 3);
  await nextTurn();
  expect([new Set(shared).size, alone.length, all.most()]).toEqual([3, 1, 4]);
  expect(shared).not.toContain(alone[0]);
  all.pool.release(alone[0] as PooledProcess);
  await nextTurn();
  expect([alone.length, alone[1]]).toEqual([2, alone[0]]);
  await all.pool.end();
});

test.each([1, 4])('with %i processes, a steady stream of shared answers does not starve one that runs alone', async (processes) => {
  const all = rig(processes, 2);
  const shared = acquire(all, 'shared', processes * 2 + 20);
  const alone = acquire(all, 'alone', 1);
  await nextTurn();
  for (let left = 0; left < processes * 2; left += 1) {
    all.pool.release(shared[left] as PooledProcess);
    await nextTurn();
  }
  expect(alone).toHaveLength(1);
  await all.pool.end();
});

test.each([1, 4])('with %i processes, a steady stream of answers that run alone does not starve shared ones', async (processes) => {
  const all = rig(processes, 50);
  const alone = acquire(all, 'alone', 100);
  const shared = acquire(all, 'shared', 50);
  await nextTurn();
  expect(alone).toHaveLength(processes);
  all.pool.release(alone[0] as PooledProcess);
  await nextTurn();
  expect([alone.length, shared.length, new Set(shared).size]).toEqual([processes, 50, 1]);
  await all.pool.end();
});

test('an answer that stops waiting gets no process', async () => {
  const all = rig(1, 1);
  const [first] = [await all.pool.acquire('alone', never)];
  const stopping = new AbortController();
  const second = all.pool.acquire('alone', stopping.signal);
  stopping.abort();
  expect(await second).toBeUndefined();
  const third = all.pool.acquire('shared', never);
  all.pool.release(first as PooledProcess);
  expect(await third).toBe(first);
  await all.pool.end();
});

test('by default the answers of a dead worker run at once, and those of a full shared process that died run in three rounds', async () => {
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
  const together = acquire(all, 'shared', concurrency);
  await nextTurn();
  expect(together).toHaveLength(concurrency);
  for (const pooled of together) all.pool.release(pooled);
  const alone = acquire(all, 'alone', shared - 1);
  let rounds = 0;
  for (let left = 0; left < shared - 1; rounds += 1) {
    await nextTurn();
    const round = alone.slice(left);
    left = alone.length;
    for (const pooled of round) all.pool.release(pooled);
  }
  expect(rounds).toBeLessThanOrEqual(3);
  await all.pool.end();
});
