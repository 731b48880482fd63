import type { ProcessContext } from '@agent-service/runtime';
import type { Worker } from 'bullmq';
import { isOutage } from '../redis/outage.ts';
import { queueMetrics } from './metrics.ts';

const againAfterMs = 10_000;

/**
 * What BullMQ has to say. None of it is more than news: a lost lock or a missing job means that someone else may have the work,
 * which the owner of the row decides. Outages are told by the connection itself.
 */
export function reportFaults(process: ProcessContext, worker: Worker): void {
  const { faults } = queueMetrics(process);
  let toldAt = Number.NEGATIVE_INFINITY;
  worker.on('error', (cause) => {
    if (isOutage(cause)) return;
    const kind = /lock|Missing key for job/i.test(cause.message) ? 'lock' : 'other';
    faults.inc({ queue: worker.name, kind });
    const now = performance.now();
    if (now - toldAt < againAfterMs) return;
    toldAt = now;
    process.logger.warn({ event: 'queue_fault', queue: worker.name, kind, err: cause });
  });
  worker.on('stalled', (jobId) => process.logger.warn({ event: 'job_abandoned', queue: worker.name, job_id: jobId }));
}
