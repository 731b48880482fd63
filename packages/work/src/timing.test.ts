import { getEventListeners } from 'node:events';
import { expect, jest, test } from '@jest/globals';
import { abortable, sleep, timerMs, withTimeout } from './timing.ts';

const never = new Promise<never>(() => undefined);
const expired = () => new Error('expired');

test('work ends early with its limit or its signal, and else as it would alone', async () => {
  const abort = new AbortController();
  expect(await withTimeout(Promise.resolve(1), 1_000, expired)).toBe(1);
  await expect(withTimeout(never, -5, expired)).rejects.toThrow('expired');
  expect(await abortable(Promise.resolve(2), abort.signal)).toBe(2);
  expect(await abortable(Promise.resolve(3), undefined)).toBe(3);
  const waiting = abortable(never, abort.signal);
  abort.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
  await expect(abortable(never, abort.signal)).rejects.toThrow('stopped');
});

test('a sleep reports whether its time passed, and its signal ends it', async () => {
  const abort = new AbortController();
  expect(await sleep(0, abort.signal)).toBe(true);
  const sleeping = sleep(3_600_000, abort.signal);
  abort.abort();
  expect(await sleeping).toBe(false);
  expect(await sleep(3_600_000, abort.signal)).toBe(false);
});

test('delays beyond what a timer can hold are shortened, and past ones are 0', () => {
  expect([-1, 5, 2 ** 40].map(timerMs)).toEqual([0, 5, 2 ** 31 - 1]);
});

test('waits leave no timer and no listener behind', async () => {
  jest.useFakeTimers();
  const abort = new AbortController();
  const { signal } = abort;
  const passing = sleep(10, signal);
  jest.advanceTimersByTime(10);
  expect(await passing).toBe(true);
  await abortable(Promise.resolve(), signal);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  await withTimeout(Promise.resolve(), 1_000, expired);
  const ending = sleep(1_000, signal);
  abort.abort();
  expect(await ending).toBe(false);
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});
