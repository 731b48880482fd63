import { getEventListeners } from 'node:events';
import { expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { createSemaphore, SemaphoreError } from './semaphore.ts';

test('permits are granted in order, never more at once than exist, and none is lost to callers that give up', async () => {
  const caller = fc.record({ givesUp: fc.boolean(), waits: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.array(caller, { maxLength: 12 }), async (permits, callers) => {
      const semaphore = createSemaphore(permits);
      const served: number[] = [];
      let running = 0;
      const abort = new AbortController();
      const use = async (index: number, givesUp: boolean, waits: boolean) => {
        const release = await semaphore.acquire(givesUp ? { signal: abort.signal } : {});
        running += 1;
        served.push(index);
        expect(running).toBeLessThanOrEqual(permits);
        if (waits) await new Promise(setImmediate);
        running -= 1;
        release();
        release();
      };
      const uses = callers.map(({ givesUp, waits }, index) => use(index, givesUp, waits));
      abort.abort();
      await Promise.allSettled(uses);
      expect(served).toEqual(served.toSorted((one, other) => one - other));
      for (const [index, { givesUp }] of callers.entries()) if (!givesUp) expect(served).toContain(index);
      await Promise.all(Array.from({ length: permits }, () => semaphore.acquire({ limitMs: 0 })));
      await expect(semaphore.acquire({ limitMs: 1 })).rejects.toMatchObject({ reason: 'timeout' });
      expect(semaphore.waiting).toBe(0);
    }),
    { numRuns: 100 },
  );
});

test('a caller whose signal was aborted before gets no permit, also where one is free', async () => {
  const semaphore = createSemaphore(1);
  await expect(semaphore.acquire({ signal: AbortSignal.abort(new Error('left')) })).rejects.toThrow('left');
  expect(await semaphore.run(async () => 'ran')).toBe('ran');
});

test('a full line rejects at once, an aborted caller gets its reason, and failed work returns its permit', async () => {
  const semaphore = createSemaphore(1, { maxWaiting: 1 });
  const release = await semaphore.acquire();
  const abort = new AbortController();
  const waiting = semaphore.run(async () => 'ran', { signal: abort.signal });
  await expect(semaphore.run(async () => 'ran')).rejects.toEqual(new SemaphoreError('full'));
  abort.abort(new Error('left'));
  await expect(waiting).rejects.toThrow('left');
  await expect(semaphore.run(async () => 'ran', { signal: abort.signal })).rejects.toThrow('left');
  release();
  await expect(semaphore.run(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect(await semaphore.run(async () => 'ran')).toBe('ran');
});

test('callers that got their permits or gave up leave no timer and no listener behind', async () => {
  jest.useFakeTimers();
  const semaphore = createSemaphore(1);
  const { signal } = new AbortController();
  const release = await semaphore.acquire();
  const granted = semaphore.run(async () => 'ran', { limitMs: 1_000, signal });
  const late = semaphore.run(async () => 'ran', { limitMs: 10, signal }).catch((cause: unknown) => cause);
  jest.advanceTimersByTime(10);
  expect(await late).toEqual(new SemaphoreError('timeout'));
  release();
  expect(await granted).toBe('ran');
  expect(jest.getTimerCount()).toBe(0);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  jest.useRealTimers();
});
