import { expect, test } from '@jest/globals';
import { createBackoff, loadOnce, retry } from './retry.ts';

const failTimes = (times: number) => async (attempt: number) => {
  if (attempt <= times) throw new Error(`failure ${attempt}`);
  return attempt;
};

test('attempts follow each other after the policy’s pauses until one succeeds', async () => {
  const pauses: number[] = [];
  const retried: number[] = [];
  const result = await retry(failTimes(3), {
    pauseAfter: createBackoff({ firstMs: 100, maxMs: 300 }),
    sleep: async (ms) => pauses.push(ms) > 0,
    onRetry: (failures) => retried.push(failures),
  });
  expect(result).toBe(4);
  expect(pauses).toEqual([100, 200, 300]);
  expect(retried).toEqual([1, 2, 3]);
});

test('a final failure is thrown at once, and an aborted signal ends the pauses with the last failure', async () => {
  await expect(retry(failTimes(5), { pauseAfter: (failures) => (failures < 2 ? 0 : undefined) })).rejects.toThrow('failure 2');
  const abort = new AbortController();
  const retrying = retry(failTimes(5), { pauseAfter: () => 3_600_000, signal: abort.signal });
  abort.abort();
  await expect(retrying).rejects.toThrow('failure 1');
});

test('jitter adds at most its share', () => {
  const backoff = createBackoff({ firstMs: 100, maxMs: 1_000, jitter: 0.5, random: () => 1 });
  expect([1, 2, 3, 4, 5].map(backoff)).toEqual([150, 300, 600, 1_200, 1_500]);
});

test('what is loaded once is loaded again only after a failure', async () => {
  const outcomes = [Promise.reject(new Error('away')), Promise.resolve('here')];
  const load = loadOnce(() => outcomes.shift() as Promise<string>);
  await expect(Promise.all([load(), load()])).rejects.toThrow('away');
  expect([await load(), await load()]).toEqual(['here', 'here']);
});
