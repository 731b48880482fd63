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

const delivery = z.object({
  organizationId: id,
  environment: id,
  deliveryId: id,
  attempt: z.int().min(0),
});

export type AnswerJob = z.output<typeof answer>;
export type DeliveryJob = z.output<typeof delivery>;

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
  delivery: {
    queue: 'deliveries',
    payload: delivery,
    id: ({ deliveryId, attempt }: DeliveryJob) => `${deliveryId}-${attempt}`,
    timeLimitMs: minute,
  },
} as const;

interface Payloads {
  answer: AnswerJob;
  delivery: DeliveryJob;
}

export type JobName = keyof Payloads;
export type PayloadOf<Name extends JobName> = Payloads[Name];

export const jobKind = <Name extends JobName>(name: Name): JobKind<PayloadOf<Name>> => jobs[name] as unknown as JobKind<PayloadOf<Name>>;

/** What all keys of a queue begin with. */
export const keyPrefix = (queue: string): string => `{${queue}}`;
