import { z } from 'zod';

/** A kind of job. It carries ids; the rows that they name carry the truth. */
export interface JobKind<Payload> {
  /** Of the queue, and the hash tag of all its keys: they live in one slot of a cluster. */
  readonly queue: string;
  readonly payload: z.ZodType<Payload>;
  /** The same work under the same id is the same job: adding it again changes nothing. */
  readonly id: (payload: Payload) => string;
  /** What takes longer is told to end and let go of. */
  readonly timeLimitMs: number;
}

const id = z.string().min(1).max(200);

const answer = z.object({
  organizationId: id,
  environment: z.enum(['live', 'test']),
  answerId: id,
  /** Counts how often this answer was handed to a worker. */
  dispatch: z.int().min(0),
});

/** Deliveries that were taken out of their lines together, of whichever tenants. */
const deliveries = z.object({
  job: id,
  deliveries: z
    .array(
      z.object({
        organizationId: id,
        environment: id,
        deliveryId: id,
        /** Counts how often this delivery was handed to a dispatcher. */
        dispatch: z.int().min(0),
      }),
    )
    .min(1),
});

/** One without `shared`, as of the version before, runs alone. */
const answerApart = answer.extend({
  /** It has lost one lease: it may share a process with others like it. */
  shared: z.boolean().optional(),
});

export type ApartJob = z.output<typeof answerApart>;
export type AnswerJob = z.output<typeof answer>;
export type DeliveriesJob = z.output<typeof deliveries>;

const minute = 60_000;

/**
 * Every job there is. All are tried once and leave nothing behind, done or failed: whoever owns the row hands the work out again.
 * A field added later stays optional, since jobs of the version before are under way.
 */
export const jobs = {
  answer: {
    queue: 'answers',
    payload: answer,
    id: ({ answerId, dispatch }: AnswerJob) => `${answerId}-${dispatch}`,
    timeLimitMs: 60 * minute,
  },
  /** Answers that have lost a lease: those that have lost one share processes, each other has one to itself. */
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

interface Payloads {
  answer: AnswerJob;
  answerApart: ApartJob;
  deliveries: DeliveriesJob;
}

export type JobName = keyof Payloads;
export type PayloadOf<Name extends JobName> = Payloads[Name];

export const jobKind = <Name extends JobName>(name: Name): JobKind<PayloadOf<Name>> => jobs[name] as unknown as JobKind<PayloadOf<Name>>;

/** What all keys of a queue begin with. */
export const keyPrefix = (queue: string): string => `{${queue}}`;
