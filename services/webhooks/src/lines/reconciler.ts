import type { DeliveriesJob, Producer } from '@agent-service/queues';
import type { WebhooksContext } from '../context.ts';
import { takeLinesToLookAt, wakeLines } from '../store/line.ts';
import { disarm, takeDoubtful } from '../store/reconcile.ts';
import { jobsOf } from './lines.ts';

const atOnce = 500;

/**
 * Finds what no job stands for any more (Redis was emptied, a process died between commit and queue, a dispatcher died with
 * deliveries in hand) and sends it on. A step answers with 0 unless there may be more of it right now.
 */
export function createReconciler({ store, lines, now }: WebhooksContext, jobs: Producer<DeliveriesJob>): () => Promise<number> {
  async function lookAtLines(): Promise<number> {
    const endpoints = await store.transaction(({ sql }) => takeLinesToLookAt(sql, now(), atOnce));
    lines.nudge(endpoints);
    return endpoints.length;
  }

  async function askForJobs(): Promise<number> {
    const doubtful = await takeDoubtful(store.sql, now(), atOnce);
    if (doubtful.length === 0) return 0;
    const asked = jobsOf(doubtful);
    const known = await jobs.known(asked);
    const there = new Set(asked.filter((_, index) => known[index] === true).map(({ job }) => job));
    const lost = doubtful.filter(({ job }) => !there.has(job));
    const endpoints = await store.transaction(async ({ sql }) => {
      const back = await disarm(sql, lost);
      await wakeLines(sql, back, now());
      return back;
    });
    lines.nudge(endpoints);
    return doubtful.length;
  }

  return async () => {
    const done = [await lookAtLines(), await askForJobs()];
    return done.some((count) => count >= atOnce) ? atOnce : 0;
  };
}
