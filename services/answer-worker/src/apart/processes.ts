import type { ApartJob } from '@agent-service/queues';
import type { ProcessContext } from '@agent-service/runtime';
import type { AnswersApi } from '../answers/answers-api.ts';
import type { AnswerWorkerConfig } from '../config.ts';
import type { Meters } from '../meters.ts';
import { createPlaces } from './places.ts';
import { type Death, startApartProcess } from './process.ts';

/** A process that has run nothing for so long ends. */
const idleMs = 10_000;

export interface ApartDeps {
  readonly answers: AnswersApi;
  readonly meters: Meters;
  readonly config: AnswerWorkerConfig;
}

/**
 * Runs answers that have lost a lease in processes of their own: those that have lost one together, each other alone, so that one
 * that ends its process ends few others, and none twice. A process is used again, since starting one takes about half a second.
 */
export function createApartHandler(context: ProcessContext, { answers, meters, config }: ApartDeps) {
  const { logger } = context;
  // The worker's two queues drain at the same time.
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
      // Their leases run out.
      logger.warn({ event: 'death_not_reported', answers: begun.length, err: cause });
    }
  }

  const places = createPlaces({
    start: () => startApartProcess({ environment: config.environment, onDeath: reportDeath }),
    processes: config.ANSWER_APART_PROCESSES,
    shared: config.ANSWER_APART_SHARED,
    idleMs,
  });
  context.onStop('processes of answers that lost a lease', () => places.end());

  return async (job: ApartJob, stopping: AbortSignal): Promise<void> => {
    // One that still waits is left to another worker: agents finds that its job is gone.
    const place = await places.take(job.shared ? 'shared' : 'alone', AbortSignal.any([stopping, context.stopping]));
    if (!place) return;
    try {
      await place.process.run(job, AbortSignal.any([stopping, drained.signal]));
    } finally {
      places.leave(place);
    }
  };
}
