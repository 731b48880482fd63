import { type Health, type HealthEvent, nextHealth } from './health.ts';
import { judge, type Outcome } from './outcome.ts';
import { nextAttemptAt } from './schedule.ts';

/** A delivery in a dispatcher's hands, as far as its end depends on it. */
export interface DeliveryInHand {
  readonly attemptsMade: number;
  readonly lastFailureAt: number | null;
  /** A test is tried once and says nothing about the endpoint's health. */
  readonly test: boolean;
}

export type DeliveryEnd =
  | { state: 'waiting'; dueAt: number; attemptsMade: number; failedAt: number | null }
  | { state: 'delivered' | 'failed' | 'dropped'; attemptsMade: number; failedAt: number | null };

export interface Ended {
  readonly delivery: DeliveryEnd;
  readonly health: Health;
}

/** What an attempt's outcome makes of its delivery and of the endpoint's health. */
export function endAttempt(delivery: DeliveryInHand, health: Health, outcome: Outcome, at: number, random: number): Ended {
  if (outcome.kind === 'returned') {
    return { delivery: { state: 'waiting', dueAt: at, attemptsMade: delivery.attemptsMade, failedAt: delivery.lastFailureAt }, health };
  }
  const attempt = delivery.attemptsMade + 1;
  const verdict = judge(outcome);
  if (verdict === 'delivered') {
    const end = { state: 'delivered', attemptsMade: attempt, failedAt: delivery.lastFailureAt } as const;
    return { delivery: end, health: healthAfter(delivery, health, { kind: 'succeeded' }) };
  }
  const retryAfterMs = outcome.kind === 'answered' ? outcome.retryAfterMs : 0;
  const dueAt = delivery.test || verdict === 'gone' ? undefined : nextAttemptAt({ attempt, retryAfterMs, at, random });
  const event: HealthEvent =
    verdict === 'gone'
      ? { kind: 'gone', at }
      : { kind: 'failed', at, previousFailureAt: delivery.lastFailureAt, last: dueAt === undefined };
  const rest = { attemptsMade: attempt, failedAt: at };
  return {
    delivery: dueAt === undefined ? { state: 'failed', ...rest } : { state: 'waiting', dueAt, ...rest },
    health: healthAfter(delivery, health, event),
  };
}

/** A test is a person's doing and says nothing about health, except that nobody is there any more. */
function healthAfter({ test }: DeliveryInHand, health: Health, event: HealthEvent): Health {
  return test && event.kind !== 'gone' ? health : nextHealth(health, event);
}
