import type { DeliveriesJob, Producer } from '@agent-service/queues';
import type { ProcessContext } from '@agent-service/runtime';
import { startSweep, sweepIdempotency } from '@agent-service/store';
import type { WebhooksContext } from './context.ts';
import { createReconciler } from './lines/reconciler.ts';
import { removeDeletedEndpoints } from './store/removal.ts';
import { dropVoid } from './store/void.ts';

const everySecond = 1_000;
const everyMinute = 60_000;
const everyTenMinutes = 600_000;
const removedAtOnce = 1_000;

export interface SweepsOptions {
  context: WebhooksContext;
  jobs: Producer<DeliveriesJob>;
  /** Tells administrators one thing; answers with 0 when there was nothing to tell. */
  notify: () => Promise<number>;
}

/** What is done without being asked for. Every replica does it; a step that another has done finds nothing. */
export function startSweeps(process: ProcessContext, { context, jobs, notify }: SweepsOptions): void {
  const { store, now } = context;
  startSweep(process, 'reconciler', everySecond, createReconciler(context, jobs));
  startSweep(process, 'void deliveries', everySecond, () => store.transaction(({ sql }) => dropVoid(sql, now(), removedAtOnce)));
  startSweep(process, 'notices', everySecond, notify);
  startSweep(process, 'months', everyTenMinutes, () => turnMonths(process, context));
  startSweep(process, 'deleted endpoints', everyMinute, () => removeDeletedEndpoints(store.sql, now(), removedAtOnce));
  startSweep(process, 'idempotency', everyMinute, () => sweepIdempotency(store.sql));
}

async function turnMonths({ logger }: ProcessContext, { months, now }: WebhooksContext): Promise<number> {
  await months.ensure(now());
  const dropped = await months.drop(now());
  if (dropped.length > 0) logger.info({ event: 'months_dropped', partitions: dropped });
  return 0;
}
