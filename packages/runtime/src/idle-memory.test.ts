import { getHeapStatistics } from 'node:v8';
import { expect, test } from '@jest/globals';
import { createIdleCheck, garbageCollector } from './idle-memory.ts';

const megabyte = 1024 * 1024;

/** A process whose load and heap the test sets. A collection leaves 20 MB. */
function scene() {
  const state = { busy: 0, megabytes: 40, collections: 0 };
  const check = createIdleCheck({
    busyShare: () => state.busy,
    heapBytes: () => state.megabytes * megabyte,
    collect() {
      state.collections += 1;
      state.megabytes = 20;
    },
  });
  const checks = (count: number) => {
    for (let done = 0; done < count; done += 1) check();
    return state.collections;
  };
  return { state, checks };
}

test('after its start a process collects at the first check at which it is idle', () => {
  const { state, checks } = scene();
  state.busy = 0.4;
  expect(checks(2)).toBe(0);
  state.busy = 0.05;
  expect(checks(1)).toBe(1);
});

test('an idle process does not collect again, also while its heap grows a little', () => {
  const { state, checks } = scene();
  checks(1);
  state.megabytes = 27.9;
  expect(checks(1_000)).toBe(1);
});

test('a process that serves its first load soon after its start collects five minutes after it', () => {
  const { state, checks } = scene();
  state.busy = 0.4;
  checks(3);
  state.busy = 0;
  expect(checks(59)).toBe(0);
  expect(checks(1)).toBe(1);
});

test('after a load it collects when it was idle for five minutes, and not in the pauses of a load', () => {
  const { state, checks } = scene();
  checks(1);
  state.megabytes = 60;
  for (let pause = 0; pause < 10; pause += 1) {
    state.busy = 0.3;
    checks(1);
    state.busy = 0;
    expect(checks(59)).toBe(1);
  }
  expect(checks(1)).toBe(2);
  expect(checks(1_000)).toBe(2);
});

test('the collection returns the memory of garbage', () => {
  const collect = garbageCollector();
  // Garbage of the suites before must not be collected while this test counts.
  collect();
  const before = getHeapStatistics().total_heap_size;
  let garbage: object[] = [];
  for (let count = 0; count < 2_000_000; count += 1) garbage.push({ count });
  const grown = getHeapStatistics().total_heap_size;
  expect(grown).toBeGreaterThan(before + 20 * megabyte);
  garbage = [];
  collect();
  expect(getHeapStatistics().total_heap_size).toBeLessThan(grown - 20 * megabyte);
});
