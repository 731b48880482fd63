import { describe, expect, test } from '@jest/globals';
import { HealthTracker, type RedispatchReason, redispatchUnbegunWork } from './redispatch.ts';

describe('redispatch of unbegun work', () => {
  interface Row {
    readonly id: string;
    readonly isOld?: boolean;
  }

  async function redispatch(rows: readonly Row[], knownIds: readonly string[], isDoubtful?: (row: Row) => boolean) {
    const calls: { reason: RedispatchReason; ids: string[] }[] = [];
    const known: string[] = [];
    await redispatchUnbegunWork(rows, {
      isKnown: async (some) => some.map(({ id }) => knownIds.includes(id)),
      redispatch: async (reason, some) => {
        calls.push({ reason, ids: some.map(({ id }) => id) });
      },
      onKnown: (some) => known.push(...some.map(({ id }) => id)),
      ...(isDoubtful && { findDoubtful: async (some) => some.filter(isDoubtful) }),
    });
    return { calls, known };
  }

  test('a job that the queue does not know is replaced at once, one that it knows only if it is doubtful', async () => {
    const rows = [{ id: 'lost' }, { id: 'known' }, { id: 'old', isOld: true }, { id: 'oldAndLost', isOld: true }];
    const { calls, known } = await redispatch(rows, ['known', 'old'], ({ isOld }) => isOld === true);
    expect(calls).toEqual([
      { reason: 'doubtful', ids: ['old'] },
      { reason: 'lost', ids: ['lost', 'oldAndLost'] },
    ]);
    expect(known).toEqual(['known', 'old']);
  });

  test('without a rule for doubt no known job is replaced', async () => {
    expect(await redispatch([{ id: 'a' }, { id: 'b' }], ['a', 'b'])).toEqual({ calls: [], known: ['a', 'b'] });
  });

  test('the queue is not asked where no row is due, and its failure replaces no job', async () => {
    const replaced: unknown[] = [];
    const options = {
      isKnown: () => Promise.reject(new Error('Redis is away')),
      redispatch: async (_: RedispatchReason, rows: readonly Row[]) => void replaced.push(...rows),
    };
    await redispatchUnbegunWork<Row>([], options);
    await expect(redispatchUnbegunWork<Row>([{ id: 'a' }], options)).rejects.toThrow('Redis is away');
    expect(replaced).toEqual([]);
  });
});

describe('HealthTracker', () => {
  test('counts from its start while successes follow each other', () => {
    let now = 0;
    const health = new HealthTracker(() => now);
    for (; now < 6_000; now += 1_000) health.success();
    expect(health.isHealthyFor(6_000)).toBe(true);
    expect(health.isHealthyFor(6_001)).toBe(false);
  });

  test('counts from the last failure', () => {
    let now = 0;
    const health = new HealthTracker(() => now);
    for (; now < 6_000; now += 1_000) health.success();
    now = 8_000;
    health.failure();
    expect(health.isHealthyFor(1)).toBe(false);
    now = 11_000;
    health.success();
    expect(health.isHealthyFor(3_000)).toBe(true);
    expect(health.isHealthyFor(3_001)).toBe(false);
  });

  test('starts again after a failure, and after a gap in which the process was frozen', () => {
    let now = 60_000;
    const health = new HealthTracker(() => now);
    health.failure();
    now += 3_000;
    health.success();
    expect(health.isHealthyFor(3_000)).toBe(true);
    now += 4_001;
    expect(health.isHealthyFor(0)).toBe(false);
    health.success();
    expect(health.isHealthyFor(1)).toBe(false);
    now += 1;
    expect(health.isHealthyFor(1)).toBe(true);
  });
});
