import { expect, test } from '@jest/globals';
import { createFairLimiter } from './fair-limiter.ts';

const { signal } = new AbortController();

test('an organization runs one work at a time, and two organizations run at once', async () => {
  const limiter = createFairLimiter({ permits: 2, maxWaiting: 10 });
  const running: string[] = [];
  let most = 0;
  const work = (organizationId: string) =>
    limiter.run(
      organizationId,
      async () => {
        running.push(organizationId);
        most = Math.max(most, running.length);
        expect(new Set(running).size).toBe(running.length);
        await Promise.resolve();
        running.splice(running.indexOf(organizationId), 1);
      },
      signal,
    );
  await Promise.all(['a', 'a', 'a', 'b', 'b', 'c'].map(work));
  expect(most).toBe(2);
});

test('work beyond the queue of its organization is refused, and other organizations run', async () => {
  const limiter = createFairLimiter({ permits: 2, maxWaiting: 1 });
  const { promise: blocked, resolve } = Promise.withResolvers<string>();
  const first = limiter.run('a', () => blocked, signal);
  const second = limiter.run('a', async () => 'second', signal);
  await expect(limiter.run('a', async () => 'third', signal)).rejects.toMatchObject({ code: 'rate_limited' });
  expect(await limiter.run('b', async () => 'other', signal)).toBe('other');
  resolve('first');
  expect(await Promise.all([first, second])).toEqual(['first', 'second']);
  expect(await limiter.run('a', async () => 'later', signal)).toBe('later');
});

test('work that comes after some of its organization has ended waits for the one that runs', async () => {
  const limiter = createFairLimiter({ permits: 2, maxWaiting: 10 });
  const { promise: blocked, resolve } = Promise.withResolvers<void>();
  const ended: string[] = [];
  const first = limiter.run('a', async () => ended.push('first'), signal);
  const second = limiter.run('a', () => blocked.then(() => ended.push('second')), signal);
  await first;
  const third = limiter.run('a', async () => ended.push('third'), signal);
  setImmediate(resolve);
  await Promise.all([second, third]);
  expect(ended).toEqual(['first', 'second', 'third']);
});

test('work whose caller has left does not run', async () => {
  const limiter = createFairLimiter({ permits: 1, maxWaiting: 5 });
  const { promise: blocked, resolve } = Promise.withResolvers<void>();
  const first = limiter.run('a', () => blocked, signal);
  const caller = new AbortController();
  let isRun = false;
  const left = limiter.run(
    'a',
    async () => {
      isRun = true;
    },
    caller.signal,
  );
  caller.abort();
  await expect(left).rejects.toMatchObject({ code: 'cancelled' });
  resolve();
  await first;
  expect(isRun).toBe(false);
});
