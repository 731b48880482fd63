import type { ApartJob } from '@agent-service/queues';
import type { ProcessContext } from '@agent-service/runtime';
import type { AnswersApi } from '../answers/answers-api.ts';
import type { AnswerWorkerConfig } from '../config.ts';
import type { Meters } from '../meters.ts';
import { ProcessPool } from './pool.ts';
import { type Death, startApartProcess } from './process.ts';

/** A process without answers ends after this long. */
const idleMs = 10_000;

interface ApartDeps {
  readonly answers: AnswersApi;
  readonly meters: Meters;
  readonly config: AnswerWorkerConfig;
}

/**
 * Runs answers that have lost a lease in child processes: those that have lost one share processes, the others run alone. So an answer
 * that ends its process ends few others. Processes are reused, because starting one takes about half a second.
 */
export function createApartHandler(context: ProcessContext, { answers, meters, config }: ApartDeps) {
  const { logger } = context;
  // Both queues of the worker drain at the same time.
  const drained = new AbortController();
  context.stopping.addEventListener('abort', () => void setTimeout(() => drained.abort(), config.ANSWER_DRAIN_MS).unref(), { once: true });

  async function reportDeath({ how, runs }: Death): Promise<void> {
    const begun = runs.flatMap(({ job: { organizationId, environment, answerId }, attempt }) =>
      attempt === undefined ? [] : [{ answer: { organizationId, environment, answerId }, attempt }],
    );
    meters.processesDied.inc();
    logger.warn({ event: 'answer_process_died', how, running: runs.length, answers: begun });
    if (begun.length === 0) return;
    try {
      await answers.reportDeath(begun);
    } catch (cause) {
      // Their leases expire.
      logger.warn({ event: 'death_not_reported', answers: begun.length, err: cause });
    }
  }

  const pool = new ProcessPool({
    start: () => startApartProcess({ environment: config.environment, onDeath: reportDeath }),
    processes: config.ANSWER_APART_PROCESSES,
    shared: config.ANSWER_APART_SHARED,
    idleMs,
  });
  context.onStop('processes of answers that lost a lease', () => pool.end());

  return async (job: ApartJob, stopping: AbortSignal): Promise<void> => {
    // A job that still waits when this worker stops is dropped: agents gives its answer another one.
    const pooled = await pool.acquire(job.shared ? 'shared' : 'alone', AbortSignal.any([stopping, context.stopping]));
    if (!pooled) return;
    try {
      await pooled.process.run(job, AbortSignal.any([stopping, drained.signal]));
    } finally {
      pool.release(pooled);
    }
  };
}
