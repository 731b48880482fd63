import type { ProcessContext } from '@agent-service/runtime';
import { queueTelemetry } from '@agent-service/runtime/queue-telemetry';
import { isRecording } from '@agent-service/runtime/tracing';
import { withTimeout } from '@agent-service/work';
import { type BulkJobOptions, ErrorCode, Queue } from 'bullmq';
import type { RedisClient } from '../redis/clients.ts';
import type { RedisConnections } from '../redis/open-redis.ts';
import { type JobKind, type JobName, jobKind, keyPrefix, type PayloadOf } from './catalogue.ts';

export interface NewJob<Payload> {
  readonly payload: Payload;
  /** Lower goes first, equals in the order of their coming; without one it goes before all that have one. */
  readonly priority?: number;
  readonly delayMs?: number;
  /** Of the trace that the job belongs to. */
  readonly traceparent?: string;
}

export interface Producer<Payload> {
  /** All of them in one round trip. Fails within about half a second when Redis is away. A job that is there already stays as it is. */
  add(jobs: readonly NewJob<Payload>[]): Promise<void>;
  /** Which of these wait or are at work, in order. */
  known(payloads: readonly Payload[]): Promise<boolean[]>;
  /** Jobs that still wait get this priority; others are left as they are. */
  prioritize(jobs: readonly { readonly payload: Payload; readonly priority: number }[]): Promise<void>;
  /** Takes away those that no worker has. */
  remove(payloads: readonly Payload[]): Promise<void>;
  /** A page of the jobs with a priority that wait; a whole round of pages has each that waited all the time. */
  list(cursor: string | undefined): Promise<{ payloads: Payload[]; next: string | undefined }>;
  /** For metrics and for scaling workers: `waiting` could be worked on now, `delayed` not yet. */
  counts(): Promise<{ waiting: number; active: number; delayed: number }>;
}

export function createProducer<Name extends JobName>(
  process: ProcessContext,
  redis: RedisConnections,
  name: Name,
): Producer<PayloadOf<Name>> {
  const kind = jobKind(name);
  const queueNow = queueOver(process, redis, kind);
  const limitMs = redis.commandLimitMs;
  const bounded = <T>(work: Promise<T>): Promise<T> =>
    withTimeout(work, limitMs, () => new Error(`Redis did not answer within ${limitMs} ms`));

  /** BullMQ has these for one job at a time: each chunk of them is out together and has the limit for itself. */
  async function inChunks<Item>(all: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
    for (let from = 0; from < all.length; from += chunk) await bounded(Promise.all(all.slice(from, from + chunk).map(work)));
  }

  return {
    async add(all) {
      if (all.length === 0) return;
      const timestamp = process.clock.now();
      const entries = all.map((job) => ({ name, data: job.payload, opts: { ...optionsOf(kind.id(job.payload), job), timestamp } }));
      const [first, ...more] = entries;
      // A pipeline for one command costs as much as the command.
      await bounded<unknown>(first && more.length === 0 ? queueNow().add(name, first.data, first.opts) : queueNow().addBulk(entries));
    },
    async known(payloads) {
      if (payloads.length === 0) return [];
      const pipeline = redis.commands.pipeline();
      // A job has its key from its adding to its end, wherever it waits.
      for (const payload of payloads) pipeline.exists(jobKey(kind, payload));
      return answersOf(await bounded(pipeline.exec())).map((found) => found === 1);
    },
    async prioritize(all) {
      const backend = queueNow().getBackend();
      await inChunks(all, ({ payload, priority }) => ignoringGone(backend.changePriority(kind.id(payload), priority)));
    },
    async remove(payloads) {
      const backend = queueNow().getBackend();
      await inChunks(payloads, (payload) => backend.remove(kind.id(payload), false));
    },
    async list(cursor) {
      const key = `${keyPrefix(kind.queue)}:${kind.queue}`;
      const [next, members] = await bounded(redis.commands.zscan(`${key}:prioritized`, cursor ?? '0', 'COUNT', listed));
      const pipeline = redis.commands.pipeline();
      // Members and their scores in turn.
      for (const id of members.filter((_, index) => index % 2 === 0)) pipeline.hget(`${key}:${id}`, 'data');
      const found = members.length === 0 ? [] : answersOf(await bounded(pipeline.exec()));
      return { payloads: found.flatMap((data) => payloadsIn(kind, data)), next: next === '0' ? undefined : next };
    },
    async counts() {
      const counted = await bounded(queueNow().getJobCounts('wait', 'prioritized', 'delayed', 'active'));
      const { wait = 0, prioritized = 0, delayed = 0, active = 0 } = counted;
      return { waiting: wait + prioritized, active, delayed };
    },
  };
}

const listed = 500;

/** None where the job has gone in the meantime, or is of another version. */
function payloadsIn<Payload>(kind: JobKind<Payload>, data: unknown): Payload[] {
  if (typeof data !== 'string') return [];
  const parsed = kind.payload.safeParse(JSON.parse(data));
  return parsed.success ? [parsed.data] : [];
}

const chunk = 100;

const leaveNothing = { removeOnComplete: true, removeOnFail: true, attempts: 1 } as const;

function optionsOf<Payload>(jobId: string, { priority, delayMs, traceparent }: NewJob<Payload>): BulkJobOptions {
  return {
    ...leaveNothing,
    jobId,
    ...(priority === undefined ? {} : { priority }),
    ...(delayMs === undefined ? {} : { delay: Math.max(0, delayMs) }),
    ...(traceparent && isRecording() ? { telemetry: { metadata: JSON.stringify({ traceparent }) } } : {}),
  };
}

/** The queue over the connection that there is now: another one once it is known what kind of Redis answers. */
function queueOver<Payload>(process: ProcessContext, redis: RedisConnections, kind: JobKind<Payload>): () => Queue {
  let over: RedisClient | undefined;
  let queue: Queue | undefined;
  let settledAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (!queue || over !== redis.commands) {
      over = redis.commands;
      queue = openQueue(process, over, kind);
    }
    const now = performance.now();
    if (now - settledAt > settleEveryMs) {
      settledAt = now;
      settle(process, queue);
    }
    return queue;
  };
}

function openQueue<Payload>({ logger }: ProcessContext, connection: RedisClient, { queue: name }: JobKind<Payload>): Queue {
  const queue = new Queue(name, {
    connection,
    prefix: keyPrefix(name),
    skipVersionCheck: true,
    skipWaitingForReady: true,
    skipMetasUpdate: true,
    ...(isRecording() ? { telemetry: queueTelemetry() } : {}),
  });
  queue.on('error', (cause) => logger.debug({ event: 'queue_connection', queue: name, err: cause }));
  return queue;
}

const settleEveryMs = 30_000;

/** Nobody reads the queue's stream of events. Its limit lies in Redis and is gone when Redis comes back empty, so it is said now and then. */
function settle({ logger }: ProcessContext, queue: Queue): void {
  queue
    .getBackend()
    .setQueueMeta({ 'opts.maxLenEvents': 0 })
    .catch((cause: unknown) => logger.debug({ event: 'queue_connection', queue: queue.name, err: cause }));
}

const jobKey = <Payload>(kind: JobKind<Payload>, payload: Payload) => `${keyPrefix(kind.queue)}:${kind.queue}:${kind.id(payload)}`;

function answersOf(results: [Error | null, unknown][] | null): unknown[] {
  return (results ?? []).map(([failure, answer]) => {
    if (failure) throw failure;
    return answer;
  });
}

async function ignoringGone(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== ErrorCode.JobNotExist) throw cause;
  }
}
