import type { Client, Tenant } from '@agent-service/contracts';
import type { AnswerJob, Producer, Reply, WorkerNotice } from '@agent-service/queues';
import type { ProcessContext } from '@agent-service/runtime';
import { classifyDatabaseFailure } from '@agent-service/store';
import { createSemaphore, createSlowTenants, RetryQueue, type SlowTenants, type TenantLanes } from '@agent-service/work';
import { type AnswerKey, batchFields, nameOf } from '../shared/answer.ts';
import type { ServiceDeps } from '../shared/deps.ts';
import type { JobKey } from './store/dispatch.ts';

/** How many answers a tenant may have, and for how long. */
interface AnswerLimits {
  readonly inFlight: number;
  readonly waiting: number;
  readonly deadlineMs: number;
}

interface Publisher<Message> {
  publish(channel: string, message: Message): void;
}

/** Everything that the service gives to the module. */
export interface AnswersServiceDeps extends Pick<ServiceDeps, 'store' | 'eventRelay' | 'now'> {
  readonly jobs: Producer<AnswerJob>;
  /** Jobs of answers that have lost a lease. */
  readonly apartJobs: Producer<AnswerJob>;
  readonly replies: Publisher<Reply>;
  readonly notices: Publisher<WorkerNotice>;
  readonly credits: Client<'credits'>;
  readonly limits: AnswerLimits;
}

/** Dependencies of the files of the module. */
export interface AnswersDeps
  extends Pick<AnswersServiceDeps, 'store' | 'credits' | 'replies' | 'notices' | 'limits' | 'eventRelay' | 'now'> {
  readonly process: ProcessContext;
  readonly background: Background;
  readonly metrics: AnswerMetrics;
  readonly jobs: AnswerJobs;
  /** Tenants whose locks, statements or ledgers timed out lately, with the permits for each kind of their batches. */
  readonly slowTenants: Readonly<Record<BatchKind, SlowTenants>>;
}

/**
 * The work of a batch. `ledger`: it calls credits, which may take seconds, and renewals of leases must not wait for that. `statement`: it only
 * runs statements. `end`: it ends answers, which batches of the other kinds wait for. Each kind has permits of its own, since with permits in
 * common they could wait for each other.
 */
type BatchKind = 'ledger' | 'statement' | 'end';

/** Batches of slow tenants that a process runs at once; also the number of connections that they may use. */
const permitsOfSlowTenants: Readonly<Record<BatchKind, number>> = { ledger: 2, statement: 2, end: 1 };

function createSlowTenantsOfKinds(): AnswersDeps['slowTenants'] {
  const statement = createSlowTenants({ permits: permitsOfSlowTenants.statement });
  const withPermits = (permits: number): SlowTenants => ({ ...statement, semaphore: createSemaphore(permits) });
  return { statement, ledger: withPermits(permitsOfSlowTenants.ledger), end: withPermits(permitsOfSlowTenants.end) };
}

export function createAnswersDeps(process: ProcessContext, serviceDeps: AnswersServiceDeps): AnswersDeps {
  const background = createBackground(process);
  return {
    ...serviceDeps,
    process,
    background,
    metrics: createAnswerMetrics(process),
    jobs: createAnswerJobs(serviceDeps, background),
    slowTenants: createSlowTenantsOfKinds(),
  };
}

/** Batches of one kind that a process sends at once, where several tenants are busy. */
const shards = 4;

/** The options of every batcher of this module: they keep tenants apart. */
export const batchOptions = <Item extends Tenant>({ slowTenants }: Pick<AnswersDeps, 'slowTenants'>, kind: BatchKind = 'statement') => ({
  classify: classifyDatabaseFailure,
  tenants: { of: (item: Item) => item, lanes: shards, slow: slowTenants[kind] } satisfies TenantLanes<Item>,
});

/** A retry queue of answers whose settlement or release credits has not confirmed. */
export const createRetryQueue = <Item extends AnswerKey>(
  deps: AnswersDeps,
  name: string,
  run: (items: Item[]) => Promise<(boolean | Error)[]>,
  maxSwept?: number,
): RetryQueue<Item> =>
  new RetryQueue<Item>({
    name,
    run,
    keyOf: nameOf,
    batch: {
      ...batchOptions<Item>(deps, 'ledger'),
      onFailure(items, cause) {
        deps.process.logger.warn({ event: 'retry_failed', work: name, ...batchFields(items), err: cause });
      },
    },
    runInBackground: deps.background.run,
    stopping: deps.process.stopping,
    ...(maxSwept !== undefined && { maxSwept }),
  });

export type Outcome = 'completed' | 'failed' | 'cancelled';

interface AnswerMetrics {
  countAcceptance(): void;
  /** Counts answers that began for waiting workers, without a job. */
  countAssignments(count: number): void;
  /** `failure` is a public error code; empty for answers that have not failed. */
  observeEnd(outcome: Outcome, failure: string, durationMs: number): void;
  observeSettlement(durationMs: number): void;
  countRedispatches(reason: 'lease' | 'died' | 'lost' | 'doubtful' | 'returned', count: number): void;
  setCounts(counts: { waiting: number; inFlight: number }): void;
}

function createAnswerMetrics({ metrics }: ProcessContext): AnswerMetrics {
  const accepted = metrics.counter('answers_accepted_total', 'Messages accepted', []);
  const assigned = metrics.counter('answers_assigned_total', 'Answers that began for a waiting worker, without a job', []);
  const ended = metrics.counter('answers_ended_total', 'Answers ended, by outcome and code of the failure', ['outcome', 'failure']);
  const seconds = metrics.seconds('answer_seconds', 'From acceptance to the end of an answer', ['outcome']);
  const settle = metrics.seconds('answer_settle_seconds', 'From a stored result to its settled end', []);
  const redispatched = metrics.counter('answers_redispatched_total', 'Answers given another job, by reason', ['reason']);
  const waiting = metrics.gauge('answers_waiting', 'Answers of all tenants that wait to be dispatched', []);
  const inFlight = metrics.gauge('answers_in_flight', 'Answers of all tenants that are dispatched, running or settling', []);
  return {
    countAcceptance: () => accepted.inc(),
    countAssignments: (count) => assigned.inc(count),
    observeEnd(outcome, failure, durationMs) {
      ended.inc({ outcome, failure });
      seconds.observe({ outcome }, Math.max(0, durationMs) / 1000);
    },
    observeSettlement: (durationMs) => settle.observe(durationMs / 1000),
    countRedispatches: (reason, count) => redispatched.inc({ reason }, count),
    setCounts(counts) {
      waiting.set(counts.waiting);
      inFlight.set(counts.inFlight);
    },
  };
}

/** Work that no call waits for. A sweep repairs its failures. */
export interface Background {
  run(name: string, work: () => Promise<unknown>): void;
}

/** The process stops after the work that has begun. */
function createBackground(process: ProcessContext): Background {
  const underWay = new Set<Promise<unknown>>();
  process.onStop('work in the background', async () => {
    while (underWay.size > 0) await Promise.all(underWay);
  });
  return {
    run(name, work) {
      const running = work()
        .catch((cause: unknown) => process.logger.warn({ event: 'background_failed', work: name, err: cause }))
        .finally(() => underWay.delete(running));
      underWay.add(running);
    },
  };
}

/** The jobs of answers that run apart from others are in a queue of their own. */
type Queue = { readonly apart: boolean };
type QueuedKey = JobKey & Queue;

/** An answer that a worker is to begin. */
interface Dispatched extends QueuedKey {
  readonly priority: number;
  readonly traceparent: string;
  /** It may share its process with others that have lost one lease. */
  readonly shared: boolean;
}

/** A page of the jobs that wait in a queue. */
interface JobPage {
  readonly jobs: readonly QueuedKey[];
  /** Undefined after the last page. */
  readonly next: string | undefined;
}

/** The jobs that tell workers of answers. */
export interface AnswerJobs {
  /** False while this process has no connection to Redis. */
  readonly isConnected: boolean;
  /** Has no effect while Redis is away; the sweep adds missing jobs. */
  add(answers: readonly Dispatched[]): void;
  /** For each: true where the queue has its job, also while a worker runs it. */
  known(answers: readonly Dispatched[]): Promise<boolean[]>;
  /** For each: true where no worker has taken its job. */
  waiting(answers: readonly Dispatched[]): Promise<boolean[]>;
  prioritize(answers: readonly Dispatched[]): void;
  /** Removes jobs that no worker has taken. A sweep removes what is left. */
  remove(answers: readonly QueuedKey[]): void;
  /** Removes the previous jobs of the answers. */
  removePrevious(answers: readonly Dispatched[]): void;
  list(queue: Queue, cursor: string | undefined): Promise<JobPage>;
}

const jobOf = ({ organizationId, environment, id, dispatches }: JobKey): AnswerJob => ({
  organizationId,
  environment,
  answerId: id,
  dispatch: dispatches,
});

const prioritized = (answer: Dispatched) => ({
  payload: answer.shared ? { ...jobOf(answer), shared: true } : jobOf(answer),
  priority: Math.max(1, answer.priority),
});

export function createAnswerJobs({ jobs, apartJobs }: Pick<AnswersServiceDeps, 'jobs' | 'apartJobs'>, background: Background): AnswerJobs {
  const producerOf = ({ apart }: Queue): Producer<AnswerJob> => (apart ? apartJobs : jobs);

  /** The answers by their queues, without queues that have none of them. */
  const splitByQueue = <Item extends Queue>(answers: readonly Item[]) =>
    [false, true]
      .map((apart) => ({ producer: producerOf({ apart }), ofQueue: answers.filter((answer) => answer.apart === apart) }))
      .filter(({ ofQueue }) => ofQueue.length > 0);

  /** Runs the work in the background for each queue that has jobs of the answers. */
  function runByQueue<Item extends Queue>(
    name: string,
    answers: readonly Item[],
    work: (producer: Producer<AnswerJob>, ofQueue: readonly Item[]) => Promise<void>,
  ): void {
    for (const { producer, ofQueue } of splitByQueue(answers)) background.run(name, () => work(producer, ofQueue));
  }

  /** Asks the queues about the jobs of the answers. */
  const checkJobs = (check: 'known' | 'waiting') => async (answers: readonly Dispatched[]) => {
    const results = new Map<Dispatched, boolean>();
    for (const { producer, ofQueue } of splitByQueue(answers)) {
      const ofJobs = await producer[check](ofQueue.map(jobOf));
      for (const [index, answer] of ofQueue.entries()) results.set(answer, ofJobs[index] ?? false);
    }
    return answers.map((answer) => results.get(answer) ?? false);
  };

  const remove = (answers: readonly QueuedKey[]) =>
    runByQueue('removing jobs', answers, (producer, ofQueue) => producer.remove(ofQueue.map(jobOf)));

  return {
    get isConnected() {
      return jobs.isConnected;
    },
    add: (answers) =>
      runByQueue('adding jobs', answers, (producer, ofQueue) =>
        producer.add(
          ofQueue.map((answer) =>
            answer.traceparent === '' ? prioritized(answer) : { ...prioritized(answer), traceparent: answer.traceparent },
          ),
        ),
      ),
    known: checkJobs('known'),
    waiting: checkJobs('waiting'),
    prioritize: (answers) => runByQueue('prioritizing jobs', answers, (producer, ofQueue) => producer.prioritize(ofQueue.map(prioritized))),
    remove,
    removePrevious: (answers) => remove(answers.map((answer) => ({ ...answer, dispatches: answer.dispatches - 1 }))),
    async list(queue, cursor) {
      const { payloads, next } = await producerOf(queue).list(cursor);
      return {
        jobs: payloads.map(({ answerId: id, dispatch: dispatches, ...tenant }) => ({ ...tenant, id, dispatches, ...queue })),
        next,
      };
    },
  };
}

/** Throws if an item failed because the database is unavailable: all other items fail for the same reason. */
export function throwIfDatabaseAway(outcomes: readonly PromiseSettledResult<unknown>[]): void {
  for (const outcome of outcomes)
    if (outcome.status === 'rejected' && classifyDatabaseFailure(outcome.reason) === 'all') throw outcome.reason;
}
