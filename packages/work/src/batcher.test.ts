import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type BatchFailure, createBatcher } from './batcher.ts';
import { createSlowTenants, type SlowTenants } from './slow-tenants.ts';
import { callByTenant, SlowTenantError, tenantName } from './tenants.ts';

const gate = () => Promise.withResolvers<void>();
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('the first call leaves at once and the calls that arrive during it leave together', async () => {
  const batches: number[][] = [];
  const first = gate();
  const batcher = createBatcher<number, number>({
    maxItems: 10,
    run: async (items) => {
      batches.push(items);
      if (batches.length === 1) await first.promise;
      return items.map((item) => item * 2);
    },
  });
  const one = batcher.add(1);
  await settle();
  const rest = [batcher.add(2), batcher.add(3), batcher.add(4)];
  first.resolve();
  expect(await Promise.all([one, ...rest])).toEqual([2, 4, 6, 8]);
  expect(batches).toEqual([[1], [2, 3, 4]]);
});

test('items of messages that had arrived together leave together', async () => {
  const batches: number[][] = [];
  const batcher = createBatcher<number, number>({
    maxItems: 10,
    run: async (items) => {
      batches.push(items);
      return items;
    },
  });
  const fromOneSocket = batcher.add(1);
  await Promise.resolve();
  await Promise.all([fromOneSocket, batcher.add(2)]);
  expect(batches).toEqual([[1, 2]]);
});

test('a batch never exceeds its size', async () => {
  const sizes: number[] = [];
  const batcher = createBatcher<number, number>({
    maxItems: 3,
    run: async (items) => {
      sizes.push(items.length);
      return items;
    },
  });
  await Promise.all(Array.from({ length: 8 }, (_, index) => batcher.add(index)));
  expect(sizes).toEqual([3, 3, 2]);
});

test('one failed item fails alone, a failed batch fails whole, and the next batch still runs', async () => {
  const batcher = createBatcher<string, string>({
    maxItems: 2,
    run: async (items) => {
      if (items.includes('break')) throw new Error('down');
      return items.map((item) => (item === 'bad' ? new Error('bad item') : item));
    },
  });
  const outcomes = await Promise.allSettled(['a', 'bad', 'break', 'b', 'c'].map((item) => batcher.add(item)));
  expect(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.message))).toEqual([
    'a',
    'bad item',
    'down',
    'down',
    'c',
  ]);
});

test('a run that loses results is an error, not a hang', async () => {
  const batcher = createBatcher<number, number>({ maxItems: 5, run: async () => [] });
  await expect(batcher.add(1)).rejects.toThrow('a batch of 1 came back with 0 results');
});

describe('batches of several tenants', () => {
  interface Item {
    readonly organizationId: string;
    readonly environment: string;
    readonly n: number;
  }
  const item = (organizationId: string, n: number): Item => ({ organizationId, environment: 'live', n });
  const classify = (cause: unknown): BatchFailure => (cause as { kind?: BatchFailure }).kind ?? 'item';
  const failure = (kind: BatchFailure) => Object.assign(new Error(kind), { kind });

  type Fault = 'item' | 'slow' | 'retry' | 'error' | 'late' | undefined;

  /** Fails for items as their faults say, and counts how many batches of slow tenants are out. */
  function faultyRun(faults: readonly Fault[], slow: SlowTenants) {
    const counts = { slowOut: 0, most: 0 };
    const outcomeOf = ({ n }: Item, isShared: boolean) => {
      if (faults[n] === 'late' && isShared) return new SlowTenantError();
      return faults[n] === 'error' ? new Error('error') : n * 2;
    };
    const run = async (items: Item[]) => {
      const names = new Set(items.map(tenantName));
      const isSlow = names.size === 1 && slow.has(tenantName(items[0] as Item));
      counts.slowOut += Number(isSlow);
      counts.most = Math.max(counts.most, counts.slowOut);
      await settle();
      counts.slowOut -= Number(isSlow);
      const fault = items.map(({ n }) => faults[n]).find((each) => each === 'item' || each === 'slow' || each === 'retry');
      if (fault) throw failure(fault);
      return items.map((each) => outcomeOf(each, names.size > 1));
    };
    return { run, counts };
  }

  test('every item gets exactly one outcome, a failing one changes no other’s, and slow tenants hold no more than their permits', async () => {
    const none = undefined;
    const fault = fc.constantFrom<Fault>('item', 'slow', 'retry', 'error', 'late', none, none, none);
    const calls = fc.array(fc.tuple(fc.integer({ min: 0, max: 5 }), fault, fc.integer({ min: 0, max: 3 })), {
      minLength: 1,
      maxLength: 60,
    });
    await fc.assert(
      fc.asyncProperty(calls, fc.constantFrom<number | 'each'>('each', 1, 3), async (items, lanes) => {
        const slow = createSlowTenants({ permits: 2, forMs: 60_000 });
        const { run, counts } = faultyRun(
          items.map(([, each]) => each),
          slow,
        );
        const batcher = createBatcher<Item, number>({ maxItems: 7, classify, tenants: { of: (each) => each, lanes, slow }, run });
        const add = async ([tenant, , pauses]: (typeof items)[number], n: number) => {
          for (let left = pauses; left > 0; left -= 1) await settle();
          return await batcher.add(item(`org_${tenant}`, n)).catch((cause: Error) => cause.message);
        };
        const outcomes = await Promise.all(items.map(add));
        expect(outcomes).toEqual(
          items.map(([, each], n) => {
            if (each === 'late' || each === none) return n * 2;
            return each;
          }),
        );
        await settle();
        expect(batcher.lanes).toBe(0);
        // Batches that were out when their tenant became slow go on: one for each lane.
        if (lanes === 'each') expect(counts.most).toBeLessThanOrEqual(2 + 6);
        else expect(counts.most).toBeLessThanOrEqual(2 + lanes + 4);
      }),
      { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 100) },
    );
  });

  test('a shard does not wait for a batch that is stuck, and its tenants run apart until it is back', async () => {
    const stuck = gate();
    const batches: string[][] = [];
    const batcher = createBatcher<Item, number>({
      maxItems: 10,
      stuckMs: 5,
      tenants: { of: (each) => each, lanes: 1 },
      run: async (items) => {
        batches.push(items.map(({ organizationId, n }) => `${organizationId}${n}`));
        if (batches.length === 1) await stuck.promise;
        return items.map(({ n }) => n);
      },
    });
    const first = [batcher.add(item('a', 1)), batcher.add(item('b', 1))];
    await settle();
    const later = [batcher.add(item('a', 2)), batcher.add(item('b', 2)), batcher.add(item('c', 2)), batcher.add(item('d', 2))];
    expect(await Promise.all(later)).toEqual([2, 2, 2, 2]);
    expect(batches).toEqual([['a1', 'b1'], ['a2'], ['b2'], ['c2', 'd2']]);
    stuck.resolve();
    expect(await Promise.all(first)).toEqual([1, 1]);
    await settle();
    await Promise.all([batcher.add(item('a', 3)), batcher.add(item('b', 3))]);
    expect(batches.at(-1)).toEqual(['a3', 'b3']);
  });

  test('four stuck tenants do not stop a fifth, in a shard of their own or in all of them', async () => {
    const stuck = gate();
    const batches: string[][] = [];
    const batcher = createBatcher<Item, number>({
      maxItems: 10,
      stuckMs: 5,
      tenants: { of: (each) => each, lanes: 1 },
      run: async (items) => {
        batches.push(items.map(({ organizationId }) => organizationId));
        if (items.some(({ organizationId }) => organizationId.startsWith('stuck'))) await stuck.promise;
        return items.map(({ n }) => n);
      },
    });
    const waiting: Promise<number>[] = [];
    // The fifth tenant is in a stuck batch too, so that it also runs apart, beside lanes that are all stuck.
    for (const organizationId of ['stuck1', 'stuck2', 'stuck3', 'stuck4', 'fifth']) waiting.push(batcher.add(item(organizationId, 1)));
    await settle();
    for (let n = 2; n < 12; n += 1) {
      for (const number of [1, 2, 3, 4]) waiting.push(batcher.add(item(`stuck${number}`, n)));
      expect(await batcher.add(item('fifth', n))).toBe(n);
      expect(await batcher.add(item(`other${n}`, n))).toBe(n);
    }
    for (const number of [5, 6, 7, 8]) {
      waiting.push(batcher.add(item(`stuck${number}`, 1)));
      await settle();
      expect(await batcher.add(item('sixth', number))).toBe(number);
    }
    stuck.resolve();
    await Promise.all(waiting);
    expect(batches[0]).toEqual(['stuck1', 'stuck2', 'stuck3', 'stuck4', 'fifth']);
    await settle();
    expect(batcher.lanes).toBe(0);
  });

  test('callers that send their next item as soon as one is done have each item run once, also when lanes come and go', async () => {
    const runs = new Map<number, number>();
    let rounds = 0;
    const batcher = createBatcher<Item, number>({
      maxItems: 200,
      classify,
      stuckMs: 1,
      tenants: { of: (each) => each, lanes: 4 },
      run: async (items) => {
        rounds += 1;
        const isStuck = rounds % 4 === 0;
        for (const { n } of items) runs.set(n, (runs.get(n) ?? 0) + 1);
        await pause(isStuck ? 10 : 0);
        return items.map(({ n }) => n);
      },
    });
    let next = 0;
    const caller = async (organizationId: string) => {
      for (let left = 150; left > 0; left -= 1) await batcher.add(item(organizationId, next++));
    };
    await Promise.all(Array.from({ length: 20 }, (_, index) => caller(`org_${index % 7}`)));
    expect([...runs.values()].filter((times) => times !== 1)).toEqual([]);
    expect(runs.size).toBe(3_000);
  });

  test('a slow tenant runs alone for a while, holds one of the few permits for such tenants, and then comes back', async () => {
    let now = 0;
    const slow = createSlowTenants({ permits: 1, forMs: 1_000, clock: () => now });
    const batches: string[][] = [];
    let fails = true;
    const batcher = createBatcher<Item, number>({
      maxItems: 10,
      classify,
      tenants: { of: (each) => each, lanes: 1, slow },
      run: async (items) => {
        batches.push(items.map(({ organizationId }) => organizationId));
        await settle();
        if (fails && items.some(({ organizationId }) => organizationId === 'a')) throw failure('slow');
        return items.map(({ n }) => n);
      },
    });
    const both = () => Promise.allSettled([batcher.add(item('a', 1)), batcher.add(item('b', 1))]);
    expect((await both()).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(batches.splice(0)).toEqual([['a', 'b'], ['a'], ['b']]);
    fails = false;
    await both();
    expect(batches.splice(0).toSorted()).toEqual([['a'], ['b']]);
    now += 1_001;
    await both();
    expect(batches.splice(0).map((names) => names.toSorted())).toEqual([['a', 'b']]);
  });

  test('the environments of an organization are called apart', async () => {
    const calls: string[][] = [];
    const items = (['live', 'test', 'live'] as const).map((environment, n) => ({ organizationId: 'a', environment, n }));
    const outcomes = await callByTenant(items, async (some) => {
      calls.push(some.map(({ environment }) => environment));
      return some.map(({ n }) => n);
    });
    expect(calls).toEqual([['live', 'live'], ['test']]);
    expect(outcomes).toEqual([0, 1, 2]);
  });

  test('calls by tenant leave out the one that is slow beside the others, and only then', async () => {
    const never = new Promise<number[]>(() => undefined);
    const items = [item('a', 1), item('b', 2), item('a', 3)];
    const outcomes = await callByTenant(items, (some) => (some[0]?.organizationId === 'a' ? never : Promise.resolve([2])), { slowMs: 5 });
    expect(outcomes.map((outcome) => (outcome instanceof SlowTenantError ? 'slow' : outcome))).toEqual(['slow', 2, 'slow']);
    const failed = await callByTenant(items, async (some) => {
      if (some.length === 2) throw new Error('down');
      return [2];
    });
    expect(failed.map((outcome) => (outcome instanceof Error ? outcome.message : outcome))).toEqual(['down', 2, 'down']);
  });
});

test('however large items are, no batch but of one item exceeds its size, and none is lost or out of order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 50 }), async (sizes) => {
      const batches: number[][] = [];
      const batcher = createBatcher<number, number>({
        maxItems: 20,
        sizeOf: (size) => size,
        maxSize: 10,
        run: async (items) => {
          batches.push(items);
          return items;
        },
      });
      expect(await Promise.all(sizes.map((size) => batcher.add(size)))).toEqual(sizes);
      expect(batches.flat()).toEqual(sizes);
      for (const batch of batches) if (batch.length > 1) expect(batch.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(10);
    }),
  );
});
