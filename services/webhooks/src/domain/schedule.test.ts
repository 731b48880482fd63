import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { maxDelayMs, nextAttemptAt, retryDelaysMs } from './schedule.ts';

const minutes = (count: number) => count * 60_000;

test('retries follow after 1 m, 5 m, 30 m, 2 h and 12 h, and there is no sixth', () => {
  const delays = [1, 2, 3, 4, 5, 6].map((attempt) => nextAttemptAt({ attempt, retryAfterMs: 0, at: 0, random: 0 }));
  expect(delays).toEqual([minutes(1), minutes(5), minutes(30), minutes(120), minutes(720), undefined]);
});

test('a pause grows at random by up to a tenth', () => {
  expect([0, 0.5, 0.999].map((random) => nextAttemptAt({ attempt: 1, retryAfterMs: 0, at: 7, random }))).toEqual([60_007, 63_007, 66_001]);
});

test('a retry is never early, and late by at most a tenth or by a Retry-After of up to a day', () => {
  const attempt = fc.record({
    attempt: fc.integer({ min: 1, max: 5 }),
    retryAfterMs: fc.integer({ min: -1, max: 3 * maxDelayMs }),
    at: fc.integer({ min: 0, max: 4e12 }),
    random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  });
  fc.assert(
    fc.property(attempt, (failure) => {
      const stated = retryDelaysMs[failure.attempt - 1] as number;
      const requested = Math.min(Math.max(0, failure.retryAfterMs), maxDelayMs);
      const delay = (nextAttemptAt(failure) as number) - failure.at;
      expect(delay).toBeGreaterThanOrEqual(Math.max(stated, requested));
      expect(delay).toBeLessThanOrEqual(Math.max(Math.ceil(stated * 1.1), requested));
    }),
  );
});
