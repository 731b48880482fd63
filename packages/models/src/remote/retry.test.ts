import { checkProperty } from '@agent-service/testkit/properties';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ModelFailure, retryAfterMs } from './failure.ts';
import { pauseBeforeRetry } from './route.ts';

describe('the pause before the next attempt', () => {
  test('is half a second, then a second, with up to a fifth on top', () => {
    const failure = new ModelFailure('server_error');
    checkProperty(
      fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (chance) => {
        const pauses = [1, 2, 3].map((tries) => pauseBeforeRetry(failure, tries, () => chance));
        expect(pauses).toEqual([500 * (1 + 0.2 * chance), 1_000 * (1 + 0.2 * chance), undefined]);
      }),
    );
  });

  test('does not exist for permanent failures', () => {
    for (const kind of ['refused', 'denied', 'too_large', 'exhausted', 'filtered'] as const)
      expect(pauseBeforeRetry(new ModelFailure(kind), 1, () => 0)).toBeUndefined();
  });
});

describe('Retry-After', () => {
  const now = Date.parse('2026-01-15T10:00:00Z');

  test.each<[string, number | undefined]>([
    ['7', 7_000],
    ['0.5', 500],
    ['Thu, 15 Jan 2026 10:00:09 GMT', 9_000],
    ['Thu, 15 Jan 2026 09:00:00 GMT', 0],
    ['', undefined],
    ['-1e', undefined],
    ['soon', undefined],
  ])('of %j means %p ms', (header, ms) => {
    expect(retryAfterMs({ 'retry-after': header }, now)).toBe(ms);
  });

  test('in milliseconds takes precedence', () => {
    expect(retryAfterMs({ 'retry-after-ms': '250', 'retry-after': '7' }, now)).toBe(250);
  });

  test('is never negative for any header', () => {
    checkProperty(
      fc.property(fc.string(), fc.string(), (inMs, header) => {
        const ms = retryAfterMs({ 'retry-after-ms': inMs, 'retry-after': header }, now);
        expect(ms === undefined || ms >= 0).toBe(true);
      }),
    );
  });
});
