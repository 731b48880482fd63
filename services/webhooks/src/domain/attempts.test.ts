import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type EndingDelivery, endAttempts, type Outcome } from './attempts.ts';
import { healthy } from './health.ts';

const answer = (status: number, retryAfterMs = 0): Outcome => ({ kind: 'answered', status, body: '', retryAfterMs, durationMs: 1 });
const delivery = (outcome: Outcome, more: Partial<EndingDelivery> = {}): EndingDelivery => ({
  webhook: 'a',
  health: healthy,
  isExpected: true,
  attemptsMade: 0,
  lastFailureAt: null,
  test: false,
  outcome,
  ...more,
});
const settle = (...deliveries: EndingDelivery[]) => endAttempts(deliveries, 1_000, () => 0);

test('only 2xx is a success; every other answer is retried', () => {
  for (const status of [200, 201, 204, 299])
    expect(settle(delivery(answer(status))).ends[0]).toMatchObject({ state: 'delivered', attemptsMade: 1 });
  for (const status of [100, 199, 300, 301, 302, 304, 400, 404, 429, 500, 503])
    expect(settle(delivery(answer(status))).ends[0]).toMatchObject({ state: 'waiting', dueAt: 61_000, attemptsMade: 1 });
  expect(settle(delivery({ kind: 'unanswered', reason: 'timeout', durationMs: 15_000 })).ends[0]).toMatchObject({ state: 'waiting' });
});

test('Retry-After lengthens a delay and never shortens one', () => {
  expect(settle(delivery(answer(503, 5_000))).ends[0]).toMatchObject({ dueAt: 61_000 });
  expect(settle(delivery(answer(503, 600_000))).ends[0]).toMatchObject({ dueAt: 601_000 });
});

test('the sixth failure is final, and a returned delivery does not count as an attempt', () => {
  expect(settle(delivery(answer(500), { attemptsMade: 5 })).ends[0]).toMatchObject({ state: 'failed', attemptsMade: 6 });
  expect(settle(delivery({ kind: 'returned' }, { attemptsMade: 3, lastFailureAt: 7 })).ends[0]).toEqual({
    state: 'waiting',
    dueAt: 1_000,
    attemptsMade: 3,
    failedAt: 7,
  });
});

test('410 ends its delivery, disables the webhook and drops its retries', () => {
  const { ends, webhooks } = settle(delivery(answer(500)), delivery(answer(410)), delivery(answer(500), { webhook: 'b' }));
  expect(ends.map(({ state }) => state)).toEqual(['dropped', 'failed', 'waiting']);
  expect(webhooks.get('a')?.after.status).toBe('disabled');
  expect(webhooks.get('b')?.after.status).toBe('healthy');
});

test('a delivery of an inactive webhook is not retried', () => {
  expect(settle(delivery(answer(500), { isExpected: false })).ends[0]).toMatchObject({ state: 'dropped' });
  expect(settle(delivery({ kind: 'returned' }, { isExpected: false })).ends[0]).toMatchObject({ state: 'dropped' });
});

test('a test is attempted once and does not change the health', () => {
  const { ends, webhooks } = settle(delivery(answer(500), { test: true }));
  expect(ends[0]).toMatchObject({ state: 'failed' });
  expect(webhooks.get('a')).toMatchObject({ after: healthy, isAttempted: true });
});

test('in any batch every delivery ends or waits, and its webhook is checked when its first retry is due', () => {
  const outcome = fc.oneof(
    fc.constant<Outcome>({ kind: 'returned' }),
    fc.constant<Outcome>({ kind: 'unanswered', reason: 'timeout', durationMs: 1 }),
    fc
      .tuple(fc.constantFrom(200, 302, 410, 429, 500), fc.integer({ min: 0, max: 1e8 }))
      .map(([status, retryAfterMs]) => answer(status, retryAfterMs)),
  );
  const deliveries = fc.array(
    fc.record({
      outcome,
      webhook: fc.constantFrom('a', 'b', 'c'),
      isExpected: fc.boolean(),
      attemptsMade: fc.integer({ min: 0, max: 5 }),
      test: fc.boolean(),
    }),
    { minLength: 1, maxLength: 20 },
  );
  fc.assert(
    fc.property(deliveries, (batch) => {
      const { ends, webhooks } = settle(...batch.map(({ outcome: each, ...rest }) => delivery(each, rest)));
      for (const [name, { dueAt, after }] of webhooks) {
        const due = ends.flatMap((end, index) => (batch[index]?.webhook === name && end.state === 'waiting' ? [end.dueAt] : []));
        expect(dueAt).toBe(due.length > 0 ? Math.min(...due) : null);
        if (after.status === 'disabled') expect(due).toEqual([]);
      }
    }),
  );
});
