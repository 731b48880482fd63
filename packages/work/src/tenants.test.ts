import { afterEach, expect, jest, test } from '@jest/globals';
import { callByTenant, SlowTenantError } from './tenants.ts';

const item = (organizationId: string, n: number) => ({ organizationId, environment: 'live', n });

afterEach(() => {
  jest.useRealTimers();
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

test('a call for one tenant fails as the call does', async () => {
  await expect(callByTenant([item('a', 1)], () => Promise.reject(new Error('down')))).rejects.toThrow('down');
});

test('a tenant is slow beyond twice the time of the first one, and no timer outlives the calls', async () => {
  jest.useFakeTimers();
  const call = async ([first]: readonly { readonly n: number }[]) => {
    await new Promise((resolve) => setTimeout(resolve, first?.n));
    return [first?.n as number];
  };
  const calls = callByTenant([item('a', 1_000), item('b', 1_990), item('c', 2_010)], call, { slowMs: 250 });
  await jest.advanceTimersByTimeAsync(2_005);
  const outcomes = await calls;
  expect(outcomes.map((outcome) => (outcome instanceof SlowTenantError ? 'slow' : outcome))).toEqual([1_000, 1_990, 'slow']);
  const quick = callByTenant([item('a', 1), item('b', 2)], call);
  await jest.advanceTimersByTimeAsync(10);
  expect(await quick).toEqual([1, 2]);
  expect(jest.getTimerCount()).toBe(0);
});
