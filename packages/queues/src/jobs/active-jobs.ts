import type { ProcessContext } from '@agent-service/runtime';
import type { JobKind } from './catalogue.ts';
import { jobMetrics } from './metrics.ts';

/** The jobs that this process works on. */
export interface Hands {
  readonly active: number;
  /** Settles when the job is done, failed or given up on; never rejects. */
  take(jobId: string, data: unknown): Promise<void>;
  /** Tells all that are in hand to end. */
  abort(): void;
  /** Resolves when nothing is in hand, or after the limit. */
  finished(limitMs: number): Promise<void>;
}

export function createHands<Payload>(
  process: ProcessContext,
  kind: JobKind<Payload>,
  handle: (payload: Payload, signal: AbortSignal) => Promise<void>,
): Hands {
  const held = new Set<AbortController>();
  const metrics = jobMetrics(process, kind.queue);
  const waiting = new Set<() => void>();

  async function run(jobId: string, data: unknown, controller: AbortController): Promise<string> {
    const parsed = kind.payload.safeParse(data);
    if (!parsed.success) {
      process.logger.error({ event: 'job_refused', queue: kind.queue, job_id: jobId, err: parsed.error });
      return 'refused';
    }
    try {
      return await withinTime(handle(parsed.data, controller.signal), controller, kind.timeLimitMs);
    } catch (cause) {
      process.logger.error({ event: 'job_failed', queue: kind.queue, job_id: jobId, err: cause });
      return 'failed';
    }
  }

  return {
    get active() {
      return held.size;
    },
    async take(jobId, data) {
      const controller = new AbortController();
      held.add(controller);
      metrics.active(held.size);
      const started = performance.now();
      const outcome = await run(jobId, data, controller);
      metrics.ended(outcome, performance.now() - started);
      held.delete(controller);
      metrics.active(held.size);
      if (held.size === 0) for (const resolve of waiting) resolve();
    },
    abort() {
      for (const controller of held) controller.abort();
    },
    async finished(limitMs) {
      if (held.size === 0) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, limitMs);
      waiting.add(resolve);
      await promise;
      waiting.delete(resolve);
      clearTimeout(timer);
    },
  };
}

const graceMs = 5_000;

/** Past its time a job is told to end; one that does not listen is let go of, so that it can not hold a place for ever. */
async function withinTime(work: Promise<void>, controller: AbortController, limitMs: number): Promise<'done'> {
  const { promise: expired, reject } = Promise.withResolvers<never>();
  let timer = setTimeout(() => {
    controller.abort(new Error(`the job took more than ${limitMs} ms`));
    timer = setTimeout(() => reject(new Error(`the job did not end within ${limitMs + graceMs} ms`)), graceMs);
  }, limitMs);
  try {
    await Promise.race([work, expired]);
    return 'done';
  } finally {
    clearTimeout(timer);
  }
}
