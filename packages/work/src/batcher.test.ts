import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { type BatchFailure, createBatcher } from './batcher.ts';
import { createSlowTenants, type SlowTenants } from './slow-tenants.ts';
import { SlowTenantError, tenantName } from './tenants.ts';

const gate = () => Promise.withResolvers<void>();
const settle = () => new Promise((resolve) => setImmediate(resolve));

afterEach(() => {
  jest.useRealTimers();
});

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

test('a lane that ended and opened again still has one batch out at once', async () => {
  const gates = Array.from({ length: 4 }, gate);
  const started: number[] = [];
  const batcher = createBatcher<number, number>({
    maxItems: 10,
    run: async (items) => {
      started.push(...items);
      await gates[items[0] as number]?.promise;
      return items;
    },
  });
  gates[1]?.resolve();
  const first = batcher.add(0);
  await settle();
  gates[0]?.resolve();
  await batcher.add(1);
  // Before the turn in which the lane that has ended would send what was added to it.
  await new Promise((resolve) => process.nextTick(resolve));
  const next = batcher.add(2);
  await settle();
  const last = batcher.add(3);
  await settle();
  expect(started).toEqual([0, 1, 2]);
  gates[2]?.resolve();
  gates[3]?.resolve();
  expect(await Promise.all([first, next, last])).toEqual([0, 2, 3]);
});

test('three seconds after its first failure a batch fails as a whole', async () => {
  jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'setImmediate', 'nextTick'] });
  let runs = 0;
  const failed: number[][] = [];
  const batcher = createBatcher<number, number>({
    maxItems: 8,
    classify: () => 'item',
    onFailure: (items) => failed.push(items),
    run: async () => {
      runs += 1;
      jest.advanceTimersByTime(1_000);
      throw new Error(`run ${runs}`);
    },
  });
  await Promise.allSettled(Array.from({ length: 8 }, (_, index) => batcher.add(index)));
  expect(runs).toBe(5);
  expect(failed).toEqual([[0], [1], [2, 3], [4, 5, 6, 7]]);
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

  /** A batcher whose items of a gate wait for it, and the batches that began. */
  function createGated(lanes: number | 'each') {
    const gates = new Map<string, PromiseWithResolvers<void>>();
    const started: string[] = [];
    const batcher = createBatcher<Item, number>({
      maxItems: 2,
      concurrency: 2,
      classify,
      stuckMs: 60_000,
      tenants: { of: (each) => each, lanes, maxInFlight: 2 },
      run: async (items) => {
        const name = items.map(({ organizationId, n }) => `${organizationId}${n}`).join(' ');
        started.push(name);
        await gates.get(name)?.promise;
        if (new Set(items.map(tenantName)).size > 1) throw failure('item');
        return items.map(({ n }) => n);
      },
    });
    const close = (...names: string[]) => {
      for (const name of names) gates.set(name, gate());
    };
    const open = async (...names: string[]) => {
      for (const name of names) gates.get(name)?.resolve();
      await settle();
    };
    const add = async (...items: Item[]) => {
      const added = items.map((each) => batcher.add(each));
      await settle();
      return added;
    };
    return { started, close, open, add };
  }

  test('tenants that run apart leave the permits of the shards alone, and keep their order until their last batch is back', async () => {
    const { started, close, open, add } = createGated(1);
    close('a1', 'a2', 'b1', 'c1', 'c2', 'a3');
    const all = await add(item('a', 1), item('b', 1));
    all.push(...(await add(item('a', 2))), ...(await add(item('c', 1))), ...(await add(item('c', 2))), ...(await add(item('a', 3))));
    expect(started).toEqual(['a1 b1', 'a1', 'b1', 'a2', 'c1', 'c2']);
    await open('a2');
    expect(started.slice(6)).toEqual(['a3']);
    await open('a1', 'b1', 'c1', 'c2', 'a3');
    expect(await Promise.all(all)).toEqual([1, 1, 2, 1, 2, 3]);
  });

  test('items that arrived while their lane waited for a permit do not wait for its first batch', async () => {
    const { started, close, open, add } = createGated('each');
    close('x1', 'y1', 'z1 z2');
    const all = await add(item('x', 1), item('y', 1));
    all.push(...(await add(item('z', 1))), ...(await add(item('z', 2), item('z', 3))));
    expect(started).toEqual(['x1', 'y1']);
    await open('x1', 'y1');
    expect(started.slice(2).toSorted()).toEqual(['z1 z2', 'z3']);
    await open('z1 z2');
    expect(await Promise.all(all)).toEqual([1, 1, 1, 2, 3]);
  });

  test('sixteen batches may be stuck at once: the next one keeps its shard until one of them is back', async () => {
    jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'setImmediate', 'nextTick'] });
    const gates = Array.from({ length: 20 }, gate);
    const started: number[] = [];
    const batcher = createBatcher<Item, number>({
      maxItems: 1,
      stuckMs: 10,
      tenants: { of: (each) => each, lanes: 1 },
      run: async ([first]) => {
        const n = first?.n as number;
        started.push(n);
        await gates[n]?.promise;
        return [n];
      },
    });
    const all = gates.map((_, n) => batcher.add(item(`org_${n}`, n)));
    const wait = async () => {
      await settle();
      await jest.advanceTimersByTimeAsync(10);
      await settle();
    };
    for (let left = 20; left > 0; left -= 1) await wait();
    expect(started).toHaveLength(17);
    gates[3]?.resolve();
    await wait();
    expect(started).toHaveLength(18);
    for (const { resolve } of gates) resolve();
    expect(await Promise.all(all)).toEqual(gates.map((_, n) => n));
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
});

test('however large items are, a batch takes as many as its size allows and at least one, and none is lost or out of order', async () => {
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
      const sumOf = (batch: number[]) => batch.reduce((sum, size) => sum + size, 0);
      for (const [index, batch] of batches.entries()) {
        if (batch.length > 1) expect(sumOf(batch)).toBeLessThanOrEqual(10);
        const [next] = batches[index + 1] ?? [];
        if (next !== undefined && batch.length < 20) expect(sumOf(batch) + next).toBeGreaterThan(10);
      }
    }),
  );
});
