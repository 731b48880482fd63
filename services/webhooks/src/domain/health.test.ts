import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { disabledAfterEvents, disabledAfterMs, type Health, type HealthEvent, healthy, nextHealth } from './health.ts';

const day = 24 * 3_600_000;
const failure = (at: number, { last = false, previousFailureAt = null as number | null } = {}): HealthEvent => ({
  kind: 'failed',
  at,
  last,
  previousFailureAt,
});
const after = (events: readonly HealthEvent[], from: Health = healthy) => events.reduce(nextHealth, from);

test('an event whose last retry failed makes the webhook failing, and a success makes it healthy', () => {
  expect(after([failure(1)])).toMatchObject({ status: 'healthy', failingSince: null, firstFailureAt: 1 });
  const failing = after([failure(1), failure(5, { last: true, previousFailureAt: 1 })]);
  expect(failing).toEqual({ status: 'failing', failingSince: 5, firstFailureAt: 1, failedEvents: 1 });
  expect(after([failure(9)], failing)).toEqual({ status: 'failing', failingSince: 5, firstFailureAt: 1, failedEvents: 2 });
  expect(after([{ kind: 'succeeded' }], failing)).toEqual(healthy);
});

test('it is disabled seven days after the first failure, at a failure, if three events have failed', () => {
  const three = [failure(0), failure(10), failure(20)];
  expect(after([...three, failure(7 * day - 1)]).status).not.toBe('disabled');
  expect(after([...three, failure(7 * day, { previousFailureAt: 20 })]).status).toBe('disabled');
  // Retries of one event are one event.
  expect(after([failure(0), failure(7 * day, { previousFailureAt: 0 }), failure(8 * day, { previousFailureAt: 7 * day })]).status).not.toBe(
    'disabled',
  );
  // A failure from before the last success does not make the event an old one.
  expect(after([failure(0), { kind: 'succeeded' }, failure(10, { previousFailureAt: 0 })])).toMatchObject({
    failedEvents: 1,
    firstFailureAt: 10,
  });
});

test('410 disables at once, and only a caller enables it again', () => {
  const disabled = after([{ kind: 'gone', at: 7 }]);
  expect(disabled).toMatchObject({ status: 'disabled', failingSince: 7 });
  expect(after([failure(3), { kind: 'gone', at: 7 }])).toMatchObject({ status: 'disabled', firstFailureAt: 3 });
  expect(after([{ kind: 'succeeded' }, failure(8), { kind: 'gone', at: 9 }], disabled)).toEqual(disabled);
  expect(after([{ kind: 'enabled' }], disabled)).toEqual(healthy);
});

/** Events of a few deliveries at growing times, each knowing when its delivery failed before. */
const histories: fc.Arbitrary<HealthEvent[]> = fc
  .array(
    fc.record({
      step: fc.integer({ min: 0, max: 3 * day }),
      delivery: fc.integer({ min: 0, max: 4 }),
      kind: fc.constantFrom('failed', 'failed', 'failed', 'failed', 'succeeded', 'gone', 'enabled'),
      last: fc.boolean(),
    }),
    { maxLength: 40 },
  )
  .map((steps) => {
    const failedAt = new Map<number, number>();
    let at = 0;
    return steps.map(({ step, delivery, kind, last }): HealthEvent => {
      at += step;
      if (kind !== 'failed') return kind === 'gone' ? { kind, at } : { kind: kind as 'succeeded' | 'enabled' };
      const event = failure(at, { last, previousFailureAt: failedAt.get(delivery) ?? null });
      failedAt.set(delivery, at);
      return event;
    });
  });

/** The same rule as a search through the whole history instead of step by step. */
function byHistory(events: readonly HealthEvent[]): Health['status'] {
  let since: Extract<HealthEvent, { kind: 'failed' }>[] = [];
  let disabled = false;
  for (const event of events) {
    if (event.kind === 'enabled') [since, disabled] = [[], false];
    if (disabled) continue;
    if (event.kind === 'succeeded') since = [];
    if (event.kind === 'gone') disabled = true;
    if (event.kind !== 'failed') continue;
    since.push(event);
    const first = since[0]?.at ?? event.at;
    const fresh = since.filter(({ previousFailureAt }, index) => index === 0 || previousFailureAt === null || previousFailureAt < first);
    disabled = event.at - first >= disabledAfterMs && fresh.length >= disabledAfterEvents;
  }
  if (disabled) return 'disabled';
  return since.some(({ last }) => last) ? 'failing' : 'healthy';
}

test('over any history the status is that of a search through the whole history', () => {
  fc.assert(
    fc.property(histories, (events) => {
      const health = after(events);
      expect(health.status).toBe(byHistory(events));
      expect(health.failingSince === null).toBe(health.status === 'healthy');
    }),
    { numRuns: 2_000 },
  );
});
