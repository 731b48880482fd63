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
  /** False if the webhook was deactivated or deleted: the delivery is not retried. */
  readonly isExpected: boolean;
}

export type DeliveryEnd =
  | { state: 'waiting'; dueAt: number; attemptsMade: number; failedAt: number | null }
  | { state: 'delivered' | 'failed' | 'dropped'; attemptsMade: number; failedAt: number | null };

interface AttemptResult {
  readonly delivery: DeliveryEnd;
  readonly health: Health;
}

function endAttempt(delivery: EndingDelivery, health: Health, at: number, random: number): AttemptResult {
  const { outcome, attemptsMade, lastFailureAt, isUrlCurrent, test } = delivery;
  if (outcome.kind === 'returned') return { delivery: { state: 'waiting', dueAt: at, attemptsMade, failedAt: lastFailureAt }, health };
  const attempt = attemptsMade + 1;
  const verdict = classifyOutcome(outcome);
  if (verdict === 'delivered') {
    const end = { state: 'delivered', attemptsMade: attempt, failedAt: lastFailureAt } as const;
    return { delivery: end, health: healthAfter(delivery, health, { kind: 'succeeded' }) };
  }
  // The receiver at a former URL is gone, so the delivery is retried at the present one.
  const isDisabling = verdict === 'gone' && isUrlCurrent;
  const retryAfterMs = outcome.kind === 'answered' ? outcome.retryAfterMs : 0;
  const dueAt = test || isDisabling ? undefined : nextAttemptAt({ attempt, retryAfterMs, at, random });
  const event: HealthEvent = isDisabling
    ? { kind: 'gone', at }
    : { kind: 'failed', at, previousFailureAt: lastFailureAt, last: dueAt === undefined };
  // A failure that the health leaves out is not a previous one of the next.
  const failure = { attemptsMade: attempt, failedAt: countsForHealth(delivery) ? at : lastFailureAt };
  return {
    delivery: dueAt === undefined ? { state: 'failed', ...failure } : { state: 'waiting', dueAt, ...failure },
    health: healthAfter(delivery, health, event),
  };
}

/** True if the outcome says something about the webhook as it is now. */
const countsForHealth = ({ isExpected, isUrlCurrent }: EndingDelivery): boolean => isExpected && isUrlCurrent;

const healthAfter = (delivery: EndingDelivery, health: Health, event: HealthEvent): Health =>
  !countsForHealth(delivery) || (delivery.test && event.kind !== 'gone') ? health : nextHealth(health, event);

export interface EndingDelivery extends InFlightDelivery {
  /** Identifies the webhook within the batch. */
  readonly webhook: string;
  /** The webhook's health before the batch. */
  readonly health: Health;
  /** False if the webhook has another URL by now than the one that the attempt was sent to. */
  readonly isUrlCurrent: boolean;
  readonly outcome: Outcome;
}

export interface WebhookChange {
  after: Health;
  isAttempted: boolean;
  /** The delivery whose outcome disabled it, by its place in the batch. */
  disabledBy: number | null;
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
  const tentative = deliveries.map((delivery, index) => {
    const { webhook, health: before, outcome } = delivery;
    const change = webhooks.get(webhook) ?? { after: before, isAttempted: false, disabledBy: null, dueAt: null };
    const { delivery: end, health } = endAttempt(delivery, change.after, at, random());
    const isDisabled = health.status === 'disabled' && change.after.status !== 'disabled';
    webhooks.set(webhook, {
      ...change,
      after: health,
      isAttempted: change.isAttempted || outcome.kind !== 'returned',
      disabledBy: isDisabled ? index : change.disabledBy,
    });
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
