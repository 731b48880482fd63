import type { ProcessContext } from '@agent-service/runtime';
import { queueTelemetry } from '@agent-service/runtime/queue-telemetry';
import { isRecording } from '@agent-service/runtime/tracing';
import { type Job, WaitingError, Worker } from 'bullmq';
import type { RedisConnections } from '../redis/open-redis.ts';
import { isOutage } from '../redis/outage.ts';
import { createHands, type Hands } from './active-jobs.ts';
import { type JobKind, type JobName, jobKind, keyPrefix, type PayloadOf } from './catalogue.ts';
import { queueMetrics } from './metrics.ts';

export interface WorkerOptions<Payload> {
  /** How many jobs are in hand at most. */
  readonly concurrency: number;
  /** How long a stopping process waits for what is in hand before its signals abort. */
  readonly drainMs: number;
  /** Its signal aborts when the process, or the job's time, must end. What it throws is a fault of ours: logged, and the job is gone. */
  readonly handle: (payload: Payload, signal: AbortSignal) => Promise<void>;
}

export interface JobWorker {
  /** Takes no new jobs until `resume`. */
  pause(): void;
  resume(): void;
  /** How many jobs are in hand. */
  readonly active: number;
}

interface WorkerTimes {
  /** After this long without a word from its worker a job counts as abandoned. */
  readonly lockMs: number;
  /** How often somebody looks: within two looks an abandoned job is removed. */
  readonly checkMs: number;
}

/** What a dead worker had is gone after 11 s, before whoever owns the rows looks for the third time. */
const usualTimes: WorkerTimes = { lockMs: 8_000, checkMs: 3_000 };
const retryPauseMs = 500;
/** What aborted handlers have to hand back what they hold. */
const handBackMs = 2_000;
const closeMs = 1_000;

/**
 * Runs jobs. BullMQ tries none a second time and keeps none: what is lost here is handed out again by whoever owns the row.
 * Starts without Redis as well, and takes up work when it comes.
 */
export async function startWorker<Name extends JobName>(
  process: ProcessContext,
  redis: RedisConnections,
  name: Name,
  { concurrency, drainMs, handle }: WorkerOptions<PayloadOf<Name>>,
  times: WorkerTimes = usualTimes,
): Promise<JobWorker> {
  const kind = jobKind(name);
  const hands = createHands(process, kind, handle);
  let isPaused = false;
  let worker: Worker | undefined;
  const opened = redis.topology.then(open);
  function open(): void {
    if (!isPaused && !process.stopping.aborted) worker ??= openWorker(process, redis, { kind, hands, concurrency, times });
  }
  const pause = () => {
    isPaused = true;
    void worker?.pause(true);
  };
  const resume = () => {
    if (!isPaused || process.stopping.aborted) return;
    isPaused = false;
    if (worker) void worker.resume();
    // Before the topology is known, its arrival opens the worker.
    else void redis.topology.then(open, () => undefined);
  };
  process.onStop(`worker of ${kind.queue}`, () => stop(), drainMs + handBackMs + 2 * closeMs);

  async function stop(): Promise<void> {
    pause();
    await hands.finished(drainMs);
    hands.abort();
    await hands.finished(handBackMs);
    await worker?.close(hands.active > 0);
  }
  opened.catch((cause: unknown) => process.logger.error({ event: 'worker_not_started', queue: kind.queue, err: cause }));
  return {
    pause,
    resume,
    get active() {
      return hands.active;
    },
  };
}

interface Opening<Payload> {
  readonly kind: JobKind<Payload>;
  readonly hands: Hands;
  readonly concurrency: number;
  readonly times: WorkerTimes;
}

function openWorker<Payload>(process: ProcessContext, redis: RedisConnections, opening: Opening<Payload>): Worker {
  const { kind, hands, concurrency, times } = opening;
  // It asks for the server's version: only of a known one it waits in fractions of a second, which delayed jobs need.
  const take = async (job: Job, token: string | undefined): Promise<void> => {
    if (!worker.isPaused() || token === undefined) return hands.take(job.id ?? '', job.data);
    // The one that it was waiting for already when it was paused goes back to the front of the line.
    await job.moveToWait(token);
    throw new WaitingError();
  };
  const worker = new Worker(kind.queue, take, {
    connection: redis.dedicated('worker'),
    prefix: keyPrefix(kind.queue),
    concurrency,
    lockDuration: times.lockMs,
    stalledInterval: times.checkMs,
    maxStalledCount: 0,
    runRetryDelay: retryPauseMs,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
    ...(isRecording() ? { telemetry: queueTelemetry() } : {}),
  });
  reportFaults(process, worker);
  return worker;
}

const againAfterMs = 10_000;

/**
 * What BullMQ has to say. None of it is more than news: a lost lock or a missing job means that someone else may have the work,
 * which the owner of the row decides. Outages are told by the connection itself.
 */
function reportFaults(process: ProcessContext, worker: Worker): void {
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
