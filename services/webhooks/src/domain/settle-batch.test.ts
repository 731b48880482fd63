import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { healthy } from './health.ts';
import type { Outcome } from './outcome.ts';
import { type EndingDelivery, settleBatch } from './settle-batch.ts';

const answered = (status: number, retryAfterMs = 0): Outcome => ({ kind: 'answered', status, body: '', retryAfterMs, durationMs: 1 });
const delivery = (outcome: Outcome, more: Partial<EndingDelivery> = {}): EndingDelivery => ({
  endpoint: 'a',
  health: healthy,
  wanted: true,
  attemptsMade: 0,
  lastFailureAt: null,
  test: false,
  outcome,
  ...more,
});
const settle = (...deliveries: EndingDelivery[]) => settleBatch(deliveries, 1_000, () => 0);

test('only 2xx is a success; what else came is tried again', () => {
  for (const status of [200, 201, 204, 299])
    expect(settle(delivery(answered(status))).ends[0]).toMatchObject({ state: 'delivered', attemptsMade: 1 });
  for (const status of [100, 199, 300, 301, 302, 304, 400, 404, 429, 500, 503])
    expect(settle(delivery(answered(status))).ends[0]).toMatchObject({ state: 'waiting', dueAt: 61_000, attemptsMade: 1 });
  expect(settle(delivery({ kind: 'unanswered', reason: 'timeout', durationMs: 15_000 })).ends[0]).toMatchObject({ state: 'waiting' });
});

test('Retry-After lengthens a delay and never shortens one', () => {
  expect(settle(delivery(answered(503, 5_000))).ends[0]).toMatchObject({ dueAt: 61_000 });
  expect(settle(delivery(answered(503, 600_000))).ends[0]).toMatchObject({ dueAt: 601_000 });
});

test('the sixth failure is the end, and what comes back unsent is no attempt', () => {
  expect(settle(delivery(answered(500), { attemptsMade: 5 })).ends[0]).toMatchObject({ state: 'failed', attemptsMade: 6 });
  expect(settle(delivery({ kind: 'returned' }, { attemptsMade: 3, lastFailureAt: 7 })).ends[0]).toEqual({
    state: 'waiting',
    dueAt: 1_000,
    attemptsMade: 3,
    failedAt: 7,
  });
});

test('410 ends its delivery, disables the endpoint and drops what would have been tried again', () => {
  const { ends, endpoints } = settle(delivery(answered(500)), delivery(answered(410)), delivery(answered(500), { endpoint: 'b' }));
  expect(ends.map(({ state }) => state)).toEqual(['dropped', 'failed', 'waiting']);
  expect(endpoints.get('a')?.after.status).toBe('disabled');
  expect(endpoints.get('b')?.after.status).toBe('healthy');
});

test('an endpoint that is not wanted any more gets no further attempt', () => {
  expect(settle(delivery(answered(500), { wanted: false })).ends[0]).toMatchObject({ state: 'dropped' });
  expect(settle(delivery({ kind: 'returned' }, { wanted: false })).ends[0]).toMatchObject({ state: 'dropped' });
});

test('a test is tried once and leaves health as it is', () => {
  const { ends, endpoints } = settle(delivery(answered(500), { test: true }));
  expect(ends[0]).toMatchObject({ state: 'failed' });
  expect(endpoints.get('a')).toMatchObject({ after: healthy, attempted: true });
});

test('whatever comes together: every delivery ends or waits, and its endpoint is looked at when the first is due', () => {
  const outcome = fc.oneof(
    fc.constant<Outcome>({ kind: 'returned' }),
    fc.constant<Outcome>({ kind: 'unanswered', reason: 'timeout', durationMs: 1 }),
    fc
      .tuple(fc.constantFrom(200, 302, 410, 429, 500), fc.integer({ min: 0, max: 1e8 }))
      .map(([status, retryAfterMs]) => answered(status, retryAfterMs)),
  );
  const deliveries = fc.array(
    fc.record({
      outcome,
      endpoint: fc.constantFrom('a', 'b', 'c'),
      wanted: fc.boolean(),
      attemptsMade: fc.integer({ min: 0, max: 5 }),
      test: fc.boolean(),
    }),
    { minLength: 1, maxLength: 20 },
  );
  fc.assert(
    fc.property(deliveries, (given) => {
      const { ends, endpoints } = settle(...given.map(({ outcome: each, ...rest }) => delivery(each, rest)));
      for (const [name, { dueAt, after }] of endpoints) {
        const due = ends.flatMap((end, index) => (given[index]?.endpoint === name && end.state === 'waiting' ? [end.dueAt] : []));
        expect(dueAt).toBe(due.length > 0 ? Math.min(...due) : null);
        if (after.status === 'disabled') expect(due).toEqual([]);
      }
    }),
  );
});
