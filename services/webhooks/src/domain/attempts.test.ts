import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type EndingDelivery, endAttempts, type Outcome } from './attempts.ts';
import { type Health, healthy } from './health.ts';

const answer = (status: number, retryAfterMs = 0): Outcome => ({ kind: 'answered', status, body: '', retryAfterMs, durationMs: 1 });
const delivery = (outcome: Outcome, more: Partial<EndingDelivery> = {}): EndingDelivery => ({
  webhook: 'a',
  health: healthy,
  isExpected: true,
  isUrlCurrent: true,
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
  expect(webhooks.get('a')).toMatchObject({ after: { status: 'disabled' }, disabledBy: 1 });
  expect(webhooks.get('b')).toMatchObject({ after: { status: 'healthy' }, disabledBy: null });
});

test('the delivery that disabled a webhook is named, and no later one of the batch', () => {
  const { webhooks } = settle(delivery(answer(410)), delivery(answer(500)), delivery(answer(410)));
  expect(webhooks.get('a')).toMatchObject({ after: { status: 'disabled' }, disabledBy: 0 });
});

const failing: Health = { status: 'failing', failingSince: 500, firstFailureAt: 100, failedEvents: 2 };

test('an answer from a former URL leaves the health alone, and a failure is retried at the new one, a 410 too', () => {
  const settleFormer = (status: number, more: Partial<EndingDelivery> = {}) =>
    settle(delivery(answer(status), { isUrlCurrent: false, health: failing, lastFailureAt: 7, ...more }));
  for (const status of [200, 410, 500]) expect(settleFormer(status).webhooks.get('a')).toMatchObject({ after: failing, disabledBy: null });
  expect(settleFormer(200).ends[0]).toMatchObject({ state: 'delivered' });
  // The next failure is the first one that the webhook counts of this delivery.
  for (const status of [410, 500]) {
    expect(settleFormer(status).ends[0]).toEqual({ state: 'waiting', dueAt: 61_000, attemptsMade: 1, failedAt: 7 });
  }
  expect(settleFormer(410, { attemptsMade: 5 })).toMatchObject({ ends: [{ state: 'failed', attemptsMade: 6 }] });
  const tested = settleFormer(410, { test: true });
  expect(tested.ends[0]).toMatchObject({ state: 'failed' });
  expect(tested.webhooks.get('a')?.after).toEqual(failing);
});

test('an outcome from before a deactivation leaves the health of the webhook alone that is active again', () => {
  for (const status of [200, 410, 500]) {
    const { webhooks } = settle(delivery(answer(status), { isExpected: false, health: failing }));
    expect(webhooks.get('a')).toMatchObject({ after: failing, disabledBy: null });
  }
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

test('a 410 disables the webhook also where it answers a test', () => {
  const { ends, webhooks } = settle(delivery(answer(410), { test: true }));
  expect(ends[0]).toMatchObject({ state: 'failed' });
  expect(webhooks.get('a')).toMatchObject({ after: { status: 'disabled' }, disabledBy: 0 });
});

test('a final failure makes the webhook failing, and one that is retried does not', () => {
  expect(settle(delivery(answer(500), { attemptsMade: 5 })).webhooks.get('a')?.after.status).toBe('failing');
  expect(settle(delivery(answer(500), { attemptsMade: 4 })).webhooks.get('a')?.after.status).toBe('healthy');
});

test('a webhook counts as attempted where any of its deliveries was', () => {
  const returned = delivery({ kind: 'returned' });
  expect(settle(delivery(answer(200)), returned).webhooks.get('a')?.isAttempted).toBe(true);
  expect(settle(returned).webhooks.get('a')?.isAttempted).toBe(false);
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
      isUrlCurrent: fc.boolean(),
      attemptsMade: fc.integer({ min: 0, max: 5 }),
      test: fc.boolean(),
    }),
    { minLength: 1, maxLength: 20 },
  );
  fc.assert(
    fc.property(deliveries, (batch) => {
      const { ends, webhooks } = settle(...batch.map(({ outcome: each, ...rest }) => delivery(each, rest)));
      for (const [name, { dueAt, after, disabledBy }] of webhooks) {
        const due = ends.flatMap((end, index) => (batch[index]?.webhook === name && end.state === 'waiting' ? [end.dueAt] : []));
        expect(dueAt).toBe(due.length > 0 ? Math.min(...due) : null);
        if (after.status === 'disabled') expect(due).toEqual([]);
        expect(after.status === 'disabled').toBe(disabledBy !== null);
        if (disabledBy !== null) expect(batch[disabledBy]).toMatchObject({ webhook: name, isExpected: true, isUrlCurrent: true });
      }
    }),
  );
});
