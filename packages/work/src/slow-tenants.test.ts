import { expect, test } from '@jest/globals';
import { type BatchFailure, createBatcher } from './batcher.ts';
import { createSlowTenants } from './slow-tenants.ts';
import { SlowTenantError, tenantName } from './tenants.ts';

interface Item {
  readonly organizationId: string;
  readonly environment: string;
  readonly n: number;
}
const item = (organizationId: string, n = 1): Item => ({ organizationId, environment: 'live', n });
const nameOf = (organizationId: string) => tenantName(item(organizationId));
const settle = () => new Promise((resolve) => setImmediate(resolve));
const classify = (cause: unknown) => (cause as { kind: BatchFailure }).kind;
const failure = (kind: BatchFailure) => Object.assign(new Error(kind), { kind });

/** A batcher whose runs end as `outcome` says, by the number of the run, and the batches that began. */
function createRecorder(options: { lanes: number | 'each'; permits: number; concurrency?: number }, outcome: Outcome) {
  const slow = createSlowTenants({ permits: options.permits });
  const started: string[] = [];
  const batcher = createBatcher<Item, number>({
    maxItems: 2,
    concurrency: options.concurrency ?? 1,
    classify,
    tenants: { of: (each) => each, lanes: options.lanes, slow },
    run: async (items) => {
      started.push(items.map(({ organizationId }) => organizationId).join(' '));
      return await outcome(items, started.length);
    },
  });
  return { slow, started, batcher };
}
type Outcome = (items: readonly Item[], run: number) => Promise<(number | Error)[]>;
const succeed: Outcome = async (items) => items.map(({ n }) => n);

test('a tenant is slow for as long as it is said to be, from when it was last named', () => {
  let now = 0;
  const slow = createSlowTenants({ permits: 1, forMs: 1_000, clock: () => now });
  slow.add('a');
  now = 999;
  slow.add('b');
  expect(slow.has('a')).toBe(true);
  now = 1_000;
  expect([slow.has('a'), slow.has('b')]).toEqual([false, true]);
});

test('of more than ten thousand slow tenants those that were named last are remembered', () => {
  const slow = createSlowTenants({ permits: 1, clock: () => 0 });
  for (let number = 0; number < 10_000; number += 1) slow.add(`tenant ${number}`);
  slow.add('tenant 0');
  slow.add('another');
  expect([0, 1, 2].map((number) => slow.has(`tenant ${number}`))).toEqual([true, false, true]);
});

test('organizations are spread over the shards, and both environments of one share a shard', async () => {
  const lanesOf = async (items: readonly Item[]) => {
    const { batcher } = createRecorder({ lanes: 8, permits: 1 }, succeed);
    const added = items.map((each) => batcher.add(each));
    const { lanes } = batcher;
    await Promise.all(added);
    return lanes;
  };
  expect(await lanesOf(Array.from({ length: 100 }, (_, n) => item(`org_${n}`)))).toBe(8);
  expect(await lanesOf(['live', 'test'].map((environment) => ({ ...item('org_1'), environment })))).toBe(1);
});

test.each(['each', 1] as const)('batches of slow tenants share their permits, and none has two of them (%s)', async (lanes) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { slow, started, batcher } = createRecorder({ lanes, permits: 2, concurrency: 2 }, async (items, run) => {
    await promise;
    return await succeed(items, run);
  });
  for (const name of ['a', 'b', 'c']) slow.add(nameOf(name));
  const all = ['a', 'a', 'a', 'b', 'c'].map((name) => batcher.add(item(name)));
  await settle();
  expect(started).toEqual(['a a', 'b']);
  resolve();
  await Promise.all(all);
});

test('a tenant is slow whose own batch was late in a shard, and not those of a late batch of several', async () => {
  const { slow, batcher } = createRecorder({ lanes: 1, permits: 1 }, async (items, run) => {
    if (run === 1 || items.length > 1) throw failure('slow');
    return await succeed(items, run);
  });
  expect(await batcher.add(item('a'))).toBe(1);
  expect(await Promise.all([batcher.add(item('b')), batcher.add(item('c'))])).toEqual([1, 1]);
  expect(['a', 'b', 'c'].map((name) => slow.has(nameOf(name)))).toEqual([true, false, false]);
});

test('a run that may succeed at the second time runs twice, and its tenant is slow only if both fail', async () => {
  const failing = new Set([1, 3, 4]);
  const { slow, started, batcher } = createRecorder({ lanes: 'each', permits: 1 }, async (items, run) => {
    if (failing.has(run)) throw failure('retry');
    return await succeed(items, run);
  });
  expect(await batcher.add(item('a'))).toBe(1);
  await expect(batcher.add(item('b'))).rejects.toThrow('retry');
  expect(started).toEqual(['a', 'a', 'b', 'b']);
  expect(['a', 'b'].map((name) => slow.has(nameOf(name)))).toEqual([false, true]);
});

test('a tenant that delays the others of its batch runs again as a slow one, and a tenant that delays itself fails', async () => {
  const { slow, started, batcher } = createRecorder({ lanes: 1, permits: 1 }, async (items, run) => {
    if (run === 2) return await succeed(items, run);
    return items.map(({ organizationId, n }) => (organizationId === 'a' ? new SlowTenantError('late') : n));
  });
  expect(await Promise.all([batcher.add(item('a')), batcher.add(item('b'))])).toEqual([1, 1]);
  expect(slow.has(nameOf('a'))).toBe(true);
  await expect(batcher.add(item('a'))).rejects.toThrow('late');
  expect(started).toEqual(['a b', 'a', 'a']);
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
