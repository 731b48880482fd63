import type { ProcessContext } from '@agent-service/runtime';
import { withTimeout } from '@agent-service/work';
import { type Job, WaitingError, Worker } from 'bullmq';
import { isOutage, type RedisClient } from '../redis/clients.ts';
import type { RedisConnections } from '../redis/open-redis.ts';
import { type JobKind, type JobName, jobKind, lockMs, type PayloadOf, queueOptions } from './catalogue.ts';
import { queueMetrics } from './metrics.ts';

/** The work of a job. Its signal aborts when the process stops or the job's time is over. An exception is logged. */
type Work = (signal: AbortSignal) => Promise<void>;

interface WorkerOptions<Payload> {
  /** The most jobs that run at a time. */
  readonly concurrency: number;
  /** How long a stopping process waits for running jobs before it aborts their signals. */
  readonly drainMs: number;
  /** The signal aborts when the process stops or the job's time is over. An exception is logged, and the job is removed. */
  readonly handle: (payload: Payload, signal: AbortSignal) => Promise<void>;
}

export interface JobWorker {
  /** Takes no new jobs until `resume`. */
  pause(): void;
  resume(): void;
  /** The number of running jobs, including work that was given to `run`. */
  readonly active: number;
  /** Takes that many jobs fewer at a time from the queue, but always at least one. */
  setReserved(jobs: number): void;
  /** Runs work that did not come from the queue as a job: it counts as active, has a job's time limit and stops with the process. */
  run(jobId: string, work: Work): Promise<void>;
}

interface WorkerTimes {
  /** A job whose worker has not renewed its lock for this long counts as abandoned. */
  readonly lockMs: number;
  /** Time between two checks; an abandoned job is removed by the second. */
  readonly checkMs: number;
}

/** A dead worker's jobs are removed within 11 s, before the third sweep of the service that owns their rows. */
const usualTimes: WorkerTimes = { lockMs, checkMs: 3_000 };
const retryPauseMs = 500;
/** The time that aborted handlers have to return their work. */
const returnLimitMs = 2_000;
const closeMs = 1_000;

/**
 * Runs jobs. BullMQ retries none and keeps none: the service that owns the row adds a lost job again.
 * Starts without Redis as well, and begins to work once it is there.
 */
export async function startWorker<Name extends JobName>(
  process: ProcessContext,
  redis: RedisConnections,
  name: Name,
  { concurrency, drainMs, handle }: WorkerOptions<PayloadOf<Name>>,
  times: WorkerTimes = usualTimes,
): Promise<JobWorker> {
  const kind = jobKind(name);
  const activeJobs = createActiveJobs(process, kind);
  const run = (jobId: string, data: unknown) => activeJobs.run(jobId, workOf(kind, data, handle));
  let reserved = 0;
  let isPaused = false;
  let worker: Worker | undefined;
  let connection: RedisClient | undefined;
  function open(): void {
    if (isPaused || process.stopping.aborted) return;
    connection ??= redis.openWorkerConnection();
    worker ??= openWorker(process, connection, { queue: kind.queue, run, concurrency: concurrencyNow(), times });
  }
  const openOnceKnown = () =>
    void redis.topology
      .then(open)
      .catch((cause: unknown) => process.logger.error({ event: 'worker_not_started', queue: kind.queue, err: cause }));
  const concurrencyNow = () => Math.max(1, concurrency - reserved);
  const pause = () => {
    isPaused = true;
    void worker?.pause(true);
  };
  const resume = () => {
    if (!isPaused || process.stopping.aborted) return;
    isPaused = false;
    if (worker) void worker.resume();
    // Before the topology is known, its arrival opens the worker.
    else openOnceKnown();
  };
  openOnceKnown();
  process.onStop(`worker of ${kind.queue}`, () => stop(), drainMs + returnLimitMs + 2 * closeMs);

  async function stop(): Promise<void> {
    pause();
    await activeJobs.finished(drainMs);
    activeJobs.abort();
    await activeJobs.finished(returnLimitMs);
    if (!worker || !connection) return;
    // Otherwise BullMQ waits for its jobs, and without Redis for ever.
    const force = activeJobs.active > 0 || !(await answersPing(connection));
    await worker.close(force);
  }
  return {
    pause,
    resume,
    get active() {
      return activeJobs.active;
    },
    setReserved(jobs) {
      reserved = jobs;
      if (worker) worker.concurrency = concurrencyNow();
    },
    run: (jobId, work) => activeJobs.run(jobId, work),
  };
}

function workOf<Payload>(kind: JobKind<Payload>, data: unknown, handle: WorkerOptions<Payload>['handle']): Work | Error {
  const parsed = kind.payload.safeParse(data);
  return parsed.success ? (signal) => handle(parsed.data, signal) : parsed.error;
}

interface Opening {
  readonly queue: string;
  readonly run: (jobId: string, data: unknown) => Promise<void>;
  readonly concurrency: number;
  readonly times: WorkerTimes;
}

function openWorker(process: ProcessContext, connection: RedisClient, { queue, run, concurrency, times }: Opening): Worker {
  const take = async (job: Job, token: string | undefined): Promise<void> => {
    if (!worker.isPaused() || token === undefined) return run(job.id ?? '', job.data);
    // A job that arrived after the pause goes back to the front of the queue.
    await job.moveToWait(token);
    throw new WaitingError();
  };
  const worker = new Worker(queue, take, {
    // No `skipVersionCheck`: delayed jobs need waits of less than a second, which only known versions of the server have.
    connection,
    ...queueOptions(queue),
    concurrency,
    lockDuration: times.lockMs,
    stalledInterval: times.checkMs,
    maxStalledCount: 0,
    runRetryDelay: retryPauseMs,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  });
  reportErrors(process, worker);
  return worker;
}

async function answersPing(connection: RedisClient): Promise<boolean> {
  if (connection.status !== 'ready') return false;
  const answered = connection.ping().then(() => true);
  return await withTimeout(answered, closeMs, () => new Error('Redis does not answer')).catch(() => false);
}

const logEveryMs = 10_000;

/**
 * Logs and counts BullMQ's errors. None needs an action here: after a lost lock or a missing job the service that owns the row decides.
 * The connection reports outages itself.
 */
function reportErrors(process: ProcessContext, worker: Worker): void {
  const { faults } = queueMetrics(process);
  let loggedAt = Number.NEGATIVE_INFINITY;
  worker.on('error', (cause) => {
    if (isOutage(cause)) return;
    const kind = /lock|Missing key for job/i.test(cause.message) ? 'lock' : 'other';
    faults.inc({ queue: worker.name, kind });
    const now = performance.now();
    if (now - loggedAt < logEveryMs) return;
    loggedAt = now;
    process.logger.warn({ event: 'queue_fault', queue: worker.name, kind, err: cause });
  });
  worker.on('stalled', (jobId) => process.logger.warn({ event: 'job_abandoned', queue: worker.name, job_id: jobId }));
}

/** The jobs that this process runs. */
interface ActiveJobs {
  readonly active: number;
  /** Resolves when the job is done, has failed or was abandoned; never rejects. `work` is an Error if the payload was refused. */
  run(jobId: string, work: Work | Error): Promise<void>;
  /** Aborts the signals of all running jobs. */
  abort(): void;
  /** Resolves when no job runs, or after the limit. */
  finished(limitMs: number): Promise<void>;
}

function createActiveJobs<Payload>(process: ProcessContext, { queue, timeLimitMs }: JobKind<Payload>): ActiveJobs {
  const controllers = new Set<AbortController>();
  const { active, seconds } = queueMetrics(process);
  const measureActive = () => active.set({ queue }, controllers.size);
  const waiting = new Set<() => void>();

  async function runWork(jobId: string, work: Work | Error, controller: AbortController): Promise<string> {
    if (work instanceof Error) {
      process.logger.error({ event: 'job_refused', queue, job_id: jobId, err: work });
      return 'refused';
    }
    try {
      return await withTimeLimit(work(controller.signal), controller, timeLimitMs);
    } catch (cause) {
      process.logger.error({ event: 'job_failed', queue, job_id: jobId, err: cause });
      return 'failed';
    }
  }

  return {
    get active() {
      return controllers.size;
    },
    async run(jobId, work) {
      const controller = new AbortController();
      controllers.add(controller);
      measureActive();
      const started = performance.now();
      const outcome = await runWork(jobId, work, controller);
      seconds.observe({ queue, outcome }, (performance.now() - started) / 1_000);
      controllers.delete(controller);
      measureActive();
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
