import { isRecording } from '@agent-service/runtime/tracing';
import { BullMQOtel } from 'bullmq-otel';
import { z } from 'zod';

/** A kind of job. A payload carries ids; the rows with these ids are authoritative. */
export interface JobKind<Payload> {
  /** The queue's name and the hash tag of all its keys, which a cluster keeps in one slot. */
  readonly queue: string;
  readonly payload: z.ZodType<Payload>;
  /** Adding a job under an id that is in the queue changes nothing. */
  readonly id: (payload: Payload) => string;
  /** A job that takes longer is aborted and abandoned. */
  readonly timeLimitMs: number;
}

const id = z.string().min(1).max(200);

const answer = z.object({
  organizationId: id,
  environment: z.enum(['live', 'test']),
  answerId: id,
  /** The number of this answer's dispatches. */
  dispatch: z.int().min(0),
});

/** Deliveries that were dispatched together, of any tenants. */
const deliveries = z.object({
  job: id,
  deliveries: z
    .array(
      z.object({
        organizationId: id,
        environment: id,
        deliveryId: id,
        /** The number of this delivery's dispatches. */
        dispatch: z.int().min(0),
      }),
    )
    .min(1),
});

/** A job without `shared`, from the version before, runs alone. */
const answerApart = answer.extend({
  /** The answer has lost one lease: it may share a process with other such answers. */
  shared: z.boolean().optional(),
});

export type ApartJob = z.output<typeof answerApart>;
export type AnswerJob = z.output<typeof answer>;
export type DeliveriesJob = z.output<typeof deliveries>;

const minute = 60_000;

/**
 * All kinds of jobs. A job is tried once and leaves nothing behind, done or failed: the service that owns the row adds it again.
 * A field that is added later stays optional, because jobs of the version before may still be queued.
 */
const jobs = {
  answer: {
    queue: 'answers',
    payload: answer,
    id: ({ answerId, dispatch }: AnswerJob) => `${answerId}-${dispatch}`,
    timeLimitMs: 60 * minute,
  },
  /** Answers that have lost leases. Answers with one lost lease share processes; an answer with more runs in its own. */
  answerApart: {
    queue: 'answers-apart',
    payload: answerApart,
    id: ({ answerId, dispatch }: AnswerJob) => `${answerId}-${dispatch}`,
    timeLimitMs: 60 * minute,
  },
  deliveries: {
    queue: 'deliveries',
    payload: deliveries,
    id: ({ job }: DeliveriesJob) => job,
    timeLimitMs: minute,
  },
} as const;

/** A job whose worker has not renewed its lock for this long counts as abandoned. */
export const lockMs = 8_000;

export type JobName = keyof typeof jobs;
export type PayloadOf<Name extends JobName> = z.output<(typeof jobs)[Name]['payload']>;

export const jobNames = Object.keys(jobs) as readonly JobName[];

export const jobKind = <Name extends JobName>(name: Name): JobKind<PayloadOf<Name>> => jobs[name] as unknown as JobKind<PayloadOf<Name>>;

/** The prefix of all keys of a queue. */
export const keyPrefix = (queue: string): string => `{${queue}}`;

/** Options that a queue and its workers share: the prefix of their keys, and what carries the trace through a job. */
export const queueOptions = (queue: string) => ({
  prefix: keyPrefix(queue),
  ...(isRecording() && { telemetry: new BullMQOtel({ tracerName: 'agent-service' }) }),
});
