import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@agent-service/contracts';
import type { DeliveriesJob } from '@agent-service/queues';
import { type ProcessContext, processClock } from '@agent-service/runtime';
import { createBatcher } from '@agent-service/work';
import type { Dispatcher } from 'undici';
import { type Sent, send } from '../http/send.ts';

type BeginItem = Parameters<Client<'webhooks'>['beginDelivery']>[0]['items'] extends (infer Item)[] | undefined ? Item : never;
type EndItem = Parameters<Client<'webhooks'>['endDelivery']>[0]['items'] extends (infer Item)[] | undefined ? Item : never;
type Begun = NonNullable<Awaited<ReturnType<Client<'webhooks'>['beginDelivery']>>['results'][number]['begun']>;

/** Bodies included, they stay well below what a message may take. */
const begunAtOnce = 200;
const endedAtOnce = 500;
/** Between tries to tell an outcome. */
const pausesMs = [200, 500, 1_000, 2_000, 4_000];

interface DeliveryInJob {
  delivery: { organizationId: string; environment: string; deliveryId: string };
  dispatch: number;
}

export interface DeliverOptions {
  process: ProcessContext;
  webhooks: Client<'webhooks'>;
  agent: Dispatcher;
}

/** Does one job: takes each of its deliveries up, sends it, tells what became of it. */
export function createDeliver({ process, webhooks, agent }: DeliverOptions): (job: DeliveriesJob, stopping: AbortSignal) => Promise<void> {
  const { metrics, logger } = process;
  const attempts = metrics.counter('webhook_attempts_total', 'Attempts to deliver events', ['outcome']);
  const waited = metrics.seconds('webhook_first_attempt_seconds', 'From the event coming in to its first attempt', []);
  const begin = createBatcher<BeginItem, Begun | null>({
    maxItems: begunAtOnce,
    run: async (items) => (await webhooks.beginDelivery({ items })).results.map(({ begun }) => begun),
  });
  const end = createBatcher<EndItem, undefined>({
    maxItems: endedAtOnce,
    run: async (items) => {
      await webhooks.endDelivery({ items });
      return items.map(() => undefined);
    },
  });

  /** Whoever is away now comes back soon; past that, the job is gone and the delivery is sent again. */
  async function tell(item: EndItem): Promise<void> {
    for (const pauseMs of [...pausesMs, undefined]) {
      try {
        return await end.add(item);
      } catch (cause) {
        if (pauseMs === undefined) throw cause;
        await pause(pauseMs);
      }
    }
  }

  async function deliver(key: DeliveryInJob, stopping: AbortSignal): Promise<void> {
    const { organizationId, deliveryId } = key.delivery;
    const begun = await begin.add(key);
    if (!begun) return;
    if (begun.attempt === 1) waited.observe((processClock.now() - Number(begun.receivedAtMs)) / 1000);
    const sent = await send(agent, begun, stopping);
    const outcome = labelOf(sent);
    attempts.inc({ outcome });
    logger.debug({ event: 'delivery_attempt', delivery_id: deliveryId, organization_id: organizationId, attempt: begun.attempt, outcome });
    await tell({ ...key, ...toMessage(sent) });
  }

  return async ({ deliveries }, stopping) => {
    const keys = deliveries.map(({ dispatch, ...delivery }) => ({ delivery, dispatch }));
    // The job is there for as long as one of them is under way, whatever happened to the others.
    const ended = await Promise.allSettled(keys.map((key) => deliver(key, stopping)));
    const failed = ended.find(({ status }) => status === 'rejected');
    if (failed) throw (failed as PromiseRejectedResult).reason;
  };
}

function labelOf(sent: Sent): string {
  switch (sent.kind) {
    case 'answered':
      return `${Math.floor(sent.status / 100)}xx`;
    case 'unanswered':
      return sent.reason;
    case 'stopped':
      return 'stopped';
  }
}

function toMessage(sent: Sent): Pick<EndItem, 'answer' | 'failure' | 'returned'> {
  switch (sent.kind) {
    case 'answered':
      return { answer: { status: sent.status, body: sent.body, retryAfterMs: sent.retryAfterMs, durationMs: sent.durationMs } };
    case 'unanswered':
      return { failure: { reason: sent.reason, durationMs: sent.durationMs } };
    case 'stopped':
      return { returned: {} };
  }
}
