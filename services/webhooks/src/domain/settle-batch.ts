import { type DeliveryEnd, type DeliveryInHand, endAttempt } from './ended-attempt.ts';
import type { Health } from './health.ts';
import type { Outcome } from './outcome.ts';

export interface EndingDelivery extends DeliveryInHand {
  /** Names the endpoint within the batch. */
  readonly endpoint: string;
  /** Of the endpoint, before the batch. */
  readonly health: Health;
  /** Whether a further attempt would still be wanted. */
  readonly wanted: boolean;
  readonly outcome: Outcome;
}

export interface EndpointChange {
  before: Health;
  after: Health;
  attempted: boolean;
  /** When the first of those that wait again is due. */
  dueAt: number | null;
}

export interface SettledBatch {
  /** One for each delivery, in order. */
  ends: DeliveryEnd[];
  endpoints: Map<string, EndpointChange>;
}

/** What a batch of outcomes makes of its deliveries and endpoints, as if they had come one after the other. */
export function settleBatch(deliveries: readonly EndingDelivery[], at: number, random: () => number): SettledBatch {
  const endpoints = new Map<string, EndpointChange>();
  const tentative = deliveries.map((delivery) => {
    const change = endpoints.get(delivery.endpoint) ?? { before: delivery.health, after: delivery.health, attempted: false, dueAt: null };
    const { delivery: end, health } = endAttempt(delivery, change.after, delivery.outcome, at, random());
    endpoints.set(delivery.endpoint, { ...change, after: health, attempted: change.attempted || delivery.outcome.kind !== 'returned' });
    return end;
  });
  const ends = tentative.map((end, index) => finalEnd(end, deliveries[index] as EndingDelivery, endpoints));
  for (const [index, end] of ends.entries()) {
    const change = endpoints.get(deliveries[index]?.endpoint ?? '');
    if (change && end.state === 'waiting') change.dueAt = Math.min(change.dueAt ?? Number.POSITIVE_INFINITY, end.dueAt);
  }
  return { ends, endpoints };
}

/** Nothing waits for an endpoint that is not wanted any more, also not where this very batch disabled it. */
function finalEnd(end: DeliveryEnd, { wanted, endpoint }: EndingDelivery, endpoints: ReadonlyMap<string, EndpointChange>): DeliveryEnd {
  const over = !wanted || endpoints.get(endpoint)?.after.status === 'disabled';
  return end.state === 'waiting' && over ? { state: 'dropped', attemptsMade: end.attemptsMade, failedAt: end.failedAt } : end;
}
