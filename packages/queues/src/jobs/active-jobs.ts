import type { ProcessContext } from '@agent-service/runtime';
import type { JobKind } from './catalogue.ts';
import { jobMetrics } from './metrics.ts';

/** The jobs that this process runs. */
export interface ActiveJobs {
  readonly active: number;
  /** Resolves when the job is done, has failed or was abandoned; never rejects. */
  run(jobId: string, data: unknown): Promise<void>;
  /** Aborts the signals of all running jobs. */
  abort(): void;
  /** Resolves when no job runs, or after the limit. */
  finished(limitMs: number): Promise<void>;
}

export function createActiveJobs<Payload>(
  process: ProcessContext,
  kind: JobKind<Payload>,
  handle: (payload: Payload, signal: AbortSignal) => Promise<void>,
): ActiveJobs {
  const controllers = new Set<AbortController>();
  const metrics = jobMetrics(process, kind.queue);
  const waiting = new Set<() => void>();

  async function handleJob(jobId: string, data: unknown, controller: AbortController): Promise<string> {
    const parsed = kind.payload.safeParse(data);
    if (!parsed.success) {
      process.logger.error({ event: 'job_refused', queue: kind.queue, job_id: jobId, err: parsed.error });
      return 'refused';
    }
    try {
      return await withTimeLimit(handle(parsed.data, controller.signal), controller, kind.timeLimitMs);
    } catch (cause) {
      process.logger.error({ event: 'job_failed', queue: kind.queue, job_id: jobId, err: cause });
      return 'failed';
    }
  }

  return {
    get active() {
      return controllers.size;
    },
    async run(jobId, data) {
      const controller = new AbortController();
      controllers.add(controller);
      metrics.active(controllers.size);
      const started = performance.now();
      const outcome = await handleJob(jobId, data, controller);
      metrics.ended(outcome, performance.now() - started);
      controllers.delete(controller);
      metrics.active(controllers.size);
      if (controllers.size === 0) for (const resolve of waiting) resolve();
    },
    abort() {
      for (const controller of controllers) controller.abort();
    },
    async finished(limitMs) {
      if (controllers.size === 0) return;
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

/** After its time limit a job's signal aborts; a job that ignores it is abandoned, so that it cannot block others for ever. */
async function withTimeLimit(work: Promise<void>, controller: AbortController, limitMs: number): Promise<'done'> {
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
