import { type Health, type HealthEvent, nextHealth } from './health.ts';
import { nextAttemptAt } from './schedule.ts';

/** The outcome of an attempt, as the dispatcher reports it. */
export type Outcome =
  | { kind: 'answered'; status: number; body: string; retryAfterMs: number; durationMs: number }
  | { kind: 'unanswered'; reason: string; durationMs: number }
  /** The dispatcher stopped; it does not count as an attempt. */
  | { kind: 'returned' };

type Verdict = 'delivered' | 'failed' | 'gone';

/** Only 2xx is a success, and 410 says that the receiver is gone for good. */
export function classifyOutcome(outcome: Exclude<Outcome, { kind: 'returned' }>): Verdict {
  if (outcome.kind === 'unanswered') return 'failed';
  if (outcome.status === 410) return 'gone';
  return outcome.status >= 200 && outcome.status < 300 ? 'delivered' : 'failed';
}

/** A delivery in flight, as far as the end of its attempt depends on it. */
export interface InFlightDelivery {
  readonly attemptsMade: number;
  readonly lastFailureAt: number | null;
  /** A test is attempted once and does not change the webhook's health. */
  readonly test: boolean;
}

export type DeliveryEnd =
  | { state: 'waiting'; dueAt: number; attemptsMade: number; failedAt: number | null }
  | { state: 'delivered' | 'failed' | 'dropped'; attemptsMade: number; failedAt: number | null };

interface AttemptResult {
  readonly delivery: DeliveryEnd;
  readonly health: Health;
}

function endAttempt(delivery: InFlightDelivery, health: Health, outcome: Outcome, at: number, random: number): AttemptResult {
  if (outcome.kind === 'returned') {
    return { delivery: { state: 'waiting', dueAt: at, attemptsMade: delivery.attemptsMade, failedAt: delivery.lastFailureAt }, health };
  }
  const attempt = delivery.attemptsMade + 1;
  const verdict = classifyOutcome(outcome);
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
  const failure = { attemptsMade: attempt, failedAt: at };
  return {
    delivery: dueAt === undefined ? { state: 'failed', ...failure } : { state: 'waiting', dueAt, ...failure },
    health: healthAfter(delivery, health, event),
  };
}

const healthAfter = ({ test }: InFlightDelivery, health: Health, event: HealthEvent): Health =>
  test && event.kind !== 'gone' ? health : nextHealth(health, event);

export interface EndingDelivery extends InFlightDelivery {
  /** Identifies the webhook within the batch. */
  readonly webhook: string;
  /** The webhook's health before the batch. */
  readonly health: Health;
  /** False if the webhook was deactivated or deleted: the delivery is not retried. */
  readonly isExpected: boolean;
  readonly outcome: Outcome;
}

export interface WebhookChange {
  before: Health;
  after: Health;
  isAttempted: boolean;
  /** When the first of its retries is due. */
  dueAt: number | null;
}

interface BatchResult {
  /** One for each delivery, in order. */
  ends: DeliveryEnd[];
  webhooks: Map<string, WebhookChange>;
}

/** Applies a batch of outcomes to its deliveries and webhooks, as if they had come one after the other. */
export function endAttempts(deliveries: readonly EndingDelivery[], at: number, random: () => number): BatchResult {
  const webhooks = new Map<string, WebhookChange>();
  const tentative = deliveries.map(({ webhook, health: before, outcome, ...delivery }) => {
    const change = webhooks.get(webhook) ?? { before, after: before, isAttempted: false, dueAt: null };
    const { delivery: end, health } = endAttempt(delivery, change.after, outcome, at, random());
    webhooks.set(webhook, { ...change, after: health, isAttempted: change.isAttempted || outcome.kind !== 'returned' });
    return end;
  });
  const ends = tentative.map((end, index) => dropUnexpected(end, deliveries[index] as EndingDelivery, webhooks));
  for (const [index, end] of ends.entries()) {
    const change = webhooks.get(deliveries[index]?.webhook ?? '');
    if (change && end.state === 'waiting') change.dueAt = Math.min(change.dueAt ?? Number.POSITIVE_INFINITY, end.dueAt);
  }
  return { ends, webhooks };
}

/** A delivery is not retried for an inactive webhook, even if this very batch disabled it. */
function dropUnexpected(
  end: DeliveryEnd,
  { isExpected, webhook }: EndingDelivery,
  webhooks: ReadonlyMap<string, WebhookChange>,
): DeliveryEnd {
  const isOver = !isExpected || webhooks.get(webhook)?.after.status === 'disabled';
  return end.state === 'waiting' && isOver ? { state: 'dropped', attemptsMade: end.attemptsMade, failedAt: end.failedAt } : end;
}
