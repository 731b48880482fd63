import { describe, expect, test } from '@jest/globals';
import { HealthyFor, type RedispatchReason, redispatchUnbegunWork } from './redispatch.ts';

describe('redispatch of unbegun work', () => {
  const now = 100_000;
  const doubtfulMs = 20_000;
  const row = (id: string, dispatchedMsAgo: number, dispatches = 1) => ({ id, dispatchedAt: now - dispatchedMsAgo, dispatches });
  type Row = ReturnType<typeof row>;

  async function redispatch(rows: readonly Row[], knownIds: readonly string[]) {
    const calls: { reason: RedispatchReason; ids: string[] }[] = [];
    let waiting: string[] = [];
    await redispatchUnbegunWork(rows, {
      isKnown: async (some) => some.map(({ id }) => knownIds.includes(id)),
      doubtfulMs,
      now: () => now,
      redispatch: async (reason, some) => {
        calls.push({ reason, ids: some.map(({ id }) => id) });
      },
      onWaiting: (some) => {
        waiting = some.map(({ id }) => id);
      },
    });
    return { calls, waiting };
  }

  test('a job that the queue does not know is replaced at once', async () => {
    const { calls, waiting } = await redispatch([row('lost', 1), row('known', 1)], ['known']);
    expect(calls).toEqual([
      { reason: 'doubtful', ids: [] },
      { reason: 'lost', ids: ['lost'] },
    ]);
    expect(waiting).toEqual(['known']);
  });

  test('a job that the queue knows is replaced after a time that grows with each dispatch', async () => {
    const rows = [row('fresh', doubtfulMs - 1), row('due', doubtfulMs), row('second', doubtfulMs, 2), row('secondDue', 2 * doubtfulMs, 2)];
    const { calls } = await redispatch(
      rows,
      rows.map(({ id }) => id),
    );
    expect(calls[0]).toEqual({ reason: 'doubtful', ids: ['due', 'secondDue'] });
    expect(calls[1]).toEqual({ reason: 'lost', ids: [] });
  });

  test('the queue is not asked where no row is due, and its failure is the caller’s', async () => {
    const isKnown = () => Promise.reject(new Error('Redis is away'));
    const options = { isKnown, doubtfulMs, now: () => now, redispatch: async () => undefined };
    await redispatchUnbegunWork([], options);
    await expect(redispatchUnbegunWork([row('a', 1)], options)).rejects.toThrow('Redis is away');
  });
});

describe('HealthyFor', () => {
  test('counts from its start while successes follow each other', () => {
    let now = 0;
    const healthyFor = new HealthyFor(() => now);
    for (; now < 6_000; now += 1_000) healthyFor.success();
    expect(healthyFor.isAtLeast(6_000)).toBe(true);
    expect(healthyFor.isAtLeast(6_001)).toBe(false);
  });

  test('starts again after a failure, and after a gap in which the process was frozen', () => {
    let now = 60_000;
    const healthyFor = new HealthyFor(() => now);
    healthyFor.failure();
    now += 3_000;
    healthyFor.success();
    expect(healthyFor.isAtLeast(3_000)).toBe(true);
    now += 4_001;
    expect(healthyFor.isAtLeast(0)).toBe(false);
    healthyFor.success();
    expect(healthyFor.isAtLeast(1)).toBe(false);
    now += 1;
    expect(healthyFor.isAtLeast(1)).toBe(true);
  });
});
