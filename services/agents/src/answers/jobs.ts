import type { AnswerJob, Producer } from '@agent-service/queues';
import type { AgentsBase } from '../base.ts';
import type { Background } from './background.ts';
import type { JobKey } from './store/due.ts';

/** The jobs of answers that run apart from others are in a queue of their own. */
type Queue = { readonly apart: boolean };
type QueuedKey = JobKey & Queue;

/** An answer that a worker is to begin. */
export interface Dispatched extends QueuedKey {
  readonly priority: number;
  readonly traceparent: string;
  /** It may share its process with others that have lost one lease. */
  readonly shared: boolean;
}

/** A page of the jobs that wait in a queue. */
export interface JobPage {
  readonly jobs: readonly QueuedKey[];
  /** Undefined after the last page. */
  readonly next: string | undefined;
}

/** The jobs that tell workers of answers. */
export interface AnswerJobs {
  /** Has no effect while Redis is away; the sweep adds missing jobs. */
  add(answers: readonly Dispatched[]): void;
  known(answers: readonly Dispatched[]): Promise<boolean[]>;
  prioritize(answers: readonly Dispatched[]): void;
  /** Removes jobs that no worker has taken. A sweep removes what is left. */
  remove(answers: readonly QueuedKey[]): void;
  /** Removes the jobs before the answers' present ones. */
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

export function createAnswerJobs({ jobs, apartJobs }: Pick<AgentsBase, 'jobs' | 'apartJobs'>, background: Background): AnswerJobs {
  const producerOf = ({ apart }: Queue): Producer<AnswerJob> => (apart ? apartJobs : jobs);

  /** Runs the work for each queue that has jobs of the answers. */
  function runByQueue<Item extends Queue>(
    name: string,
    answers: readonly Item[],
    work: (producer: Producer<AnswerJob>, ofQueue: readonly Item[]) => Promise<void>,
  ): void {
    for (const apart of [false, true]) {
      const ofQueue = answers.filter((answer) => answer.apart === apart);
      if (ofQueue.length > 0) background.run(name, () => work(producerOf({ apart }), ofQueue));
    }
  }

  const remove = (answers: readonly QueuedKey[]) =>
    runByQueue('removing jobs', answers, (producer, ofQueue) => producer.remove(ofQueue.map(jobOf)));

  return {
    add: (answers) =>
      runByQueue('adding jobs', answers, (producer, ofQueue) =>
        producer.add(
          ofQueue.map((answer) =>
            answer.traceparent === '' ? prioritized(answer) : { ...prioritized(answer), traceparent: answer.traceparent },
          ),
        ),
      ),
    async known(answers) {
      const known = new Map<Dispatched, boolean>();
      for (const apart of [false, true]) {
        const ofQueue = answers.filter((answer) => answer.apart === apart);
        if (ofQueue.length === 0) continue;
        const areKnown = await producerOf({ apart }).known(ofQueue.map(jobOf));
        for (const [index, answer] of ofQueue.entries()) known.set(answer, areKnown[index] ?? false);
      }
      return answers.map((answer) => known.get(answer) ?? false);
    },
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
