import { randomUUID } from 'node:crypto';
import type { DeliveriesJob, Producer } from '@agent-service/queues';
import type { Logger, ProcessContext } from '@agent-service/runtime';
import { classifyDatabaseFailure, type Store } from '@agent-service/store';
import { redispatchUnbegunWork, runBatch, tenantName } from '@agent-service/work';
import {
  claimDueChecks,
  claimUnconfirmed,
  type DispatchedDelivery,
  dispatchDue,
  distinctWebhooks,
  limitSharedWait,
  returnToQueue,
  scheduleChecks,
  type UnconfirmedDelivery,
  type WebhookJobs,
  type WebhookKey,
  webhookKeyText,
} from './store/queue.ts';

const maxWebhooksPerBatch = 500;
const maxWebhooksPerJob = 8;
const maxRecoveredPerBatch = 500;

/** Dispatches the waiting deliveries of webhooks, as jobs for the dispatchers. */
export interface Dispatch {
  /** Dispatches due deliveries of these webhooks as far as their lanes have room. Returns at once. */
  nudge(webhooks: Iterable<WebhookKey>): void;
}

interface DispatchOptions {
  readonly process: ProcessContext;
  readonly store: Store;
  readonly jobs: Producer<DeliveriesJob>;
  readonly now: () => number;
}

/**
 * Calls during a round make the next round. Failures are logged only: the rows are the truth, and the recovery sweep reads them. Without Redis nothing
 * is dispatched: the queues are due for a check, which a replica with Redis makes.
 */
export function createDispatch({ process, store, jobs, now }: DispatchOptions): Dispatch {
  const waiting = new Map<string, WebhookKey>();
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (waiting.size > 0) {
      const webhooks = takeWaiting();
      if (!jobs.isConnected) continue;
      try {
        const dispatched = await dispatchDue(store.sql, assignJobs(webhooks), now());
        await jobs.add(toJobs(dispatched).map((payload) => ({ payload })));
      } catch (cause) {
        process.logger.warn({ event: 'deliveries_not_dispatched', webhooks: webhooks.length, err: cause });
      }
    }
  }

  function takeWaiting(): WebhookKey[] {
    const batch = [...waiting.entries()].slice(0, maxWebhooksPerBatch);
    for (const [text] of batch) waiting.delete(text);
    return batch.map(([, webhook]) => webhook);
  }

  function start(): void {
    running ??= Promise.resolve()
      .then(run)
      .finally(() => {
        running = undefined;
      });
  }

  process.onStop('dispatch of deliveries', async () => running);
  return {
    nudge(webhooks) {
      for (const webhook of webhooks) waiting.set(webhookKeyText(webhook), webhook);
      if (waiting.size > 0) start();
    },
  };
}

/**
 * Healthy webhooks share a job, since a job costs more than its deliveries. A job lasts until the last of its deliveries has ended, so a webhook
 * that may hang gets one of its own.
 */
function assignJobs(webhooks: readonly WebhookKey[]): WebhookJobs[] {
  let shared = '';
  return webhooks.map((webhook, index) => {
    if (index % maxWebhooksPerJob === 0) shared = randomUUID();
    return { ...webhook, shared, own: randomUUID() };
  });
}

/** The jobs of these deliveries, each once. */
function toJobs(dispatched: readonly DispatchedDelivery[]): DeliveriesJob[] {
  const byJob = Map.groupBy(dispatched, ({ job }) => job);
  return [...byJob].map(([job, deliveries]) => ({
    job,
    deliveries: deliveries.map(({ organizationId, environment, deliveryId, dispatch }) => ({
      organizationId,
      environment,
      deliveryId,
      dispatch,
    })),
  }));
}

interface RecoveryOptions extends Omit<DispatchOptions, 'process'> {
  readonly dispatch: Dispatch;
  readonly logger: Logger;
}

/**
 * A sweep that dispatches retries when they are due, and deliveries whose job is lost: Redis was emptied, or a process died between commit and
 * queue, or with deliveries in flight. A step resolves to 0 unless there may be more at once.
 */
export function createRecovery({ store, dispatch, jobs, now, logger }: RecoveryOptions): () => Promise<number> {
  async function checkQueues(): Promise<number> {
    const webhooks = await store.transaction(({ sql }) => claimDueChecks(sql, now(), maxRecoveredPerBatch));
    dispatch.nudge(webhooks);
    return webhooks.length;
  }

  async function checkJobs(): Promise<number> {
    const unconfirmed = await claimUnconfirmed(store.sql, now(), maxRecoveredPerBatch);
    await redispatchUnbegunWork(unconfirmed, {
      isKnown: (some) => areJobs('known', some),
      async findDoubtful(known) {
        const abandoned = await areJobs('abandoned', known);
        return known.filter((_, index) => abandoned[index]);
      },
      redispatch: (_, lost) => returnLost(lost),
    });
    return unconfirmed.length;
  }

  async function areJobs(state: 'known' | 'abandoned', deliveries: readonly DispatchedDelivery[]): Promise<boolean[]> {
    const payloads = toJobs(deliveries);
    const inState = await jobs[state](payloads);
    const matches = new Set(payloads.filter((_, index) => inState[index]).map(({ job }) => job));
    return deliveries.map(({ job }) => matches.has(job));
  }

  /** A locked webhook delays the deliveries of its own tenant only. */
  async function returnLost(deliveries: readonly UnconfirmedDelivery[]): Promise<void> {
    await runBatch([...Map.groupBy(deliveries, tenantName).values()], async (tenants) => {
      try {
        await returnOf(tenants.flat(), tenants.length > 1);
        return 'done';
      } catch (cause) {
        if (classifyDatabaseFailure(cause) !== 'slow') throw cause;
        if (tenants.length === 1)
          logger.warn({ event: 'deliveries_not_returned', organization_id: tenants[0]?.[0]?.organizationId, err: cause });
        return 'halve';
      }
    });
  }

  async function returnOf(deliveries: readonly UnconfirmedDelivery[], isShared: boolean): Promise<void> {
    const webhooks = distinctWebhooks(deliveries);
    await store.transaction(async ({ sql }) => {
      if (isShared) await limitSharedWait(sql);
      // Locks the webhooks before their deliveries, as the end of an attempt does.
      await scheduleChecks(sql, webhooks, now());
      await returnToQueue(sql, deliveries);
    });
    dispatch.nudge(webhooks);
  }

  return async () => {
    // It would claim what a replica with Redis can dispatch.
    if (!jobs.isConnected) return 0;
    const counts = [await checkQueues(), await checkJobs()];
    return counts.some((count) => count >= maxRecoveredPerBatch) ? maxRecoveredPerBatch : 0;
  };
}
