import type { ProcessContext } from '@agent-service/runtime';
import { isRecording } from '@agent-service/runtime/tracing';
import { withTimeout } from '@agent-service/work';
import { type BulkJobOptions, ErrorCode, Queue } from 'bullmq';
import type { ChainableCommander } from 'ioredis';
import type { RedisClient } from '../redis/clients.ts';
import type { RedisConnections } from '../redis/open-redis.ts';
import { type JobKind, type JobName, jobKind, keyPrefix, lockMs, type PayloadOf, queueOptions } from './catalogue.ts';
import { queueMetrics } from './metrics.ts';

interface NewJob<Payload> {
  readonly payload: Payload;
  /** Lower goes first, equal priorities in the order of arrival. A job without a priority goes before all others. */
  readonly priority?: number;
  /** The trace that the job belongs to. */
  readonly traceparent?: string;
}

export interface Producer<Payload> {
  /** False while this process has no connection to Redis: every operation fails then. */
  readonly isConnected: boolean;
  /** Adds all jobs in one round trip. Fails within about half a second when Redis is away. A job that is in the queue stays as it is. */
  add(jobs: readonly NewJob<Payload>[]): Promise<void>;
  /** Returns for each job whether it waits or runs. */
  known(payloads: readonly Payload[]): Promise<boolean[]>;
  /** Returns for each job whether it has a priority and no worker has taken it. */
  waiting(payloads: readonly Payload[]): Promise<boolean[]>;
  /**
   * Returns for each job whether it was added minutes ago and is with a worker that does not renew its lock. BullMQ removes such a job within
   * seconds, but where the clock of Redis was put back only after the difference.
   */
  abandoned(payloads: readonly Payload[]): Promise<boolean[]>;
  /** Changes the priority of jobs that still wait. */
  prioritize(jobs: readonly { readonly payload: Payload; readonly priority: number }[]): Promise<void>;
  /** Removes the jobs that no worker runs. */
  remove(payloads: readonly Payload[]): Promise<void>;
  /** A page of the waiting jobs that have a priority. All pages together hold each job that waited throughout. */
  list(cursor: string | undefined): Promise<{ payloads: Payload[]; next: string | undefined }>;
  /** `waiting` jobs can run now, `delayed` ones later. */
  counts(): Promise<{ waiting: number; active: number; delayed: number }>;
}

export function createProducer<Name extends JobName>(
  process: ProcessContext,
  redis: RedisConnections,
  name: Name,
): Producer<PayloadOf<Name>> {
  const kind = jobKind(name);
  const queueNow = queueOver(process, redis, kind);
  const queueKey = `${keyPrefix(kind.queue)}:${kind.queue}`;
  const prioritizedKey = `${queueKey}:prioritized`;
  const jobKey = (id: string) => `${queueKey}:${id}`;
  const limitMs = redis.commandLimitMs;
  const bounded = <T>(work: Promise<T>): Promise<T> =>
    withTimeout(work, limitMs, () => new Error(`Redis did not answer within ${limitMs} ms`));
  const askForEach: AskForEach = async (ids, ask) => {
    if (ids.length === 0) return [];
    const pipeline = redis.commands.pipeline();
    for (const id of ids) ask(pipeline, id);
    return repliesOf(await bounded(pipeline.exec()));
  };

  /** BullMQ offers these operations for one job only: a chunk is sent at once, and each chunk has its own time limit. */
  async function inChunks<Item>(all: readonly Item[], work: (backend: Backend, item: Item) => Promise<unknown>): Promise<void> {
    const backend = queueNow().getBackend();
    for (let from = 0; from < all.length; from += chunk)
      await bounded(Promise.all(all.slice(from, from + chunk).map((item) => work(backend, item))));
  }

  async function counts() {
    const counted = await bounded(queueNow().getJobCounts('wait', 'prioritized', 'delayed', 'active'));
    const { wait = 0, prioritized = 0, delayed = 0, active = 0 } = counted;
    return { waiting: wait + prioritized, active, delayed };
  }

  queueMetrics(process).waitingCounts.set(kind.queue, async () => (await counts()).waiting);
  return {
    get isConnected() {
      return redis.commands.status === 'ready';
    },
    counts,
    async add(all) {
      if (all.length === 0) return;
      const timestamp = process.clock.now();
      const entries = all.map((job) => ({ name, data: job.payload, opts: { ...optionsOf(kind.id(job.payload), job), timestamp } }));
      const [first, ...more] = entries;
      // A pipeline for one command costs as much as the command.
      await bounded<unknown>(first && more.length === 0 ? queueNow().add(name, first.data, first.opts) : queueNow().addBulk(entries));
    },
    async known(payloads) {
      // A job has its key from its addition to its end, in every state.
      const replies = await askForEach(payloads.map(kind.id), (pipeline, id) => pipeline.exists(jobKey(id)));
      return replies.map((exists) => exists === 1);
    },
    async waiting(payloads) {
      const replies = await askForEach(payloads.map(kind.id), (pipeline, id) => pipeline.zscore(prioritizedKey, id));
      return replies.map((score) => score !== null);
    },
    abandoned: (payloads) => areAbandoned(askForEach, queueKey, payloads.map(kind.id), process.clock.now()),
    prioritize: (all) =>
      inChunks(all, (backend, { payload, priority }) => ignoreMissingJob(backend.changePriority(kind.id(payload), priority))),
    remove: (payloads) => inChunks(payloads, (backend, payload) => backend.remove(kind.id(payload), false)),
    async list(cursor) {
      const [next, members] = await bounded(redis.commands.zscan(prioritizedKey, cursor ?? '0', 'COUNT', listed));
      // Members and scores alternate.
      const ids = members.filter((_, index) => index % 2 === 0);
      const replies = await askForEach(ids, (pipeline, id) => pipeline.hget(jobKey(id), 'data'));
      return { payloads: replies.flatMap((data) => payloadsIn(kind, data)), next: next === '0' ? undefined : next };
    },
  };
}

const listed = 500;

/** BullMQ's operations on single jobs. */
type Backend = ReturnType<Queue['getBackend']>;

/** Asks Redis about each of the jobs, in one round trip. */
type AskForEach = (ids: readonly string[], ask: (pipeline: ChainableCommander, id: string) => void) => Promise<unknown[]>;

const abandonedAfterMs = 120_000;

async function areAbandoned(askForEach: AskForEach, queueKey: string, ids: readonly string[], now: number): Promise<boolean[]> {
  const added = await askForEach(ids, (pipeline, id) => pipeline.hget(`${queueKey}:${id}`, 'timestamp'));
  const late = ids.filter((_, index) => added[index] && now - Number(added[index]) >= abandonedAfterMs);
  const positions = await askForEach(late, (pipeline, id) => pipeline.lpos(`${queueKey}:active`, id));
  const active = late.filter((_, index) => positions[index] !== null);
  const restMs = await askForEach(active, (pipeline, id) => pipeline.pttl(`${queueKey}:${id}:lock`));
  const abandoned = new Set(active.filter((_, index) => !isRenewed(restMs[index])));
  return ids.map((id) => abandoned.has(id));
}

/** A lock is renewed for `lockMs`. The clock of Redis was put back if it lasts longer, and no worker has renewed it since. */
const isRenewed = (restMs: unknown): boolean => typeof restMs === 'number' && restMs > 0 && restMs <= lockMs;

/** Empty where the job has ended in the meantime, or is of another version. */
function payloadsIn<Payload>(kind: JobKind<Payload>, data: unknown): Payload[] {
  if (typeof data !== 'string') return [];
  const parsed = kind.payload.safeParse(JSON.parse(data));
  return parsed.success ? [parsed.data] : [];
}

const chunk = 100;

const leaveNothing = { removeOnComplete: true, removeOnFail: true, attempts: 1 } as const;

function optionsOf<Payload>(jobId: string, { priority, traceparent }: NewJob<Payload>): BulkJobOptions {
  return {
    ...leaveNothing,
    jobId,
    ...(priority === undefined ? {} : { priority }),
    // Without omitContext BullMQ replaces it in a job that is added alone, by the trace of the work that adds it.
    ...(traceparent && isRecording() ? { telemetry: { metadata: JSON.stringify({ traceparent }), omitContext: true } } : {}),
  };
}

/** Returns the queue over the present connection, which changes once the kind of Redis is known. */
function queueOver<Payload>(process: ProcessContext, redis: RedisConnections, kind: JobKind<Payload>): () => Queue {
  let over: RedisClient | undefined;
  let queue: Queue | undefined;
  let limitedAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (!queue || over !== redis.commands) {
      over = redis.commands;
      queue = openQueue(process, over, kind);
    }
    const now = performance.now();
    if (now - limitedAt > limitEveryMs) {
      limitedAt = now;
      limitEvents(process, queue);
    }
    return queue;
  };
}

function openQueue<Payload>({ logger }: ProcessContext, connection: RedisClient, { queue: name }: JobKind<Payload>): Queue {
  const queue = new Queue(name, {
    connection,
    ...queueOptions(name),
    skipVersionCheck: true,
    skipWaitingForReady: true,
    skipMetasUpdate: true,
  });
  queue.on('error', (cause) => logger.debug({ event: 'queue_connection', queue: name, err: cause }));
  return queue;
}

const limitEveryMs = 30_000;

/** The queue's stream of events is not read. Its limit is kept in Redis and lost when Redis comes back empty, so it is set regularly. */
function limitEvents({ logger }: ProcessContext, queue: Queue): void {
  queue
    .getBackend()
    .setQueueMeta({ 'opts.maxLenEvents': 0 })
    .catch((cause: unknown) => logger.debug({ event: 'queue_connection', queue: queue.name, err: cause }));
}

function repliesOf(results: [Error | null, unknown][] | null): unknown[] {
  return (results ?? []).map(([failure, reply]) => {
    if (failure) throw failure;
    return reply;
  });
}

async function ignoreMissingJob(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== ErrorCode.JobNotExist) throw cause;
  }
}
