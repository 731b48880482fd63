import type { AnswerJob, Producer } from '@agent-service/queues';
import type { AgentsBase } from '../base.ts';
import type { Background } from './background.ts';
import type { AnswerKey } from './key.ts';

export interface Dispatched extends AnswerKey {
  readonly dispatches: number;
  readonly priority: number;
  readonly traceparent: string;
  /** It has lost a lease, so its job is in the queue of those that do not run in the worker's own process. */
  readonly apart: boolean;
  /** It has lost exactly one, so it may share its process with others like it. */
  readonly shared: boolean;
}

type Lane = Pick<Dispatched, 'apart'>;
type Named = Lane & Pick<Dispatched, 'organizationId' | 'environment' | 'id' | 'dispatches'>;

/** A page of the jobs that wait in a queue. */
export interface JobPage {
  readonly jobs: readonly Named[];
  /** Undefined after the last page. */
  readonly next: string | undefined;
}

/** The jobs by which workers learn of answers. */
export interface AnswerJobs {
  /** Wakes a worker up for each. While Redis is away nothing comes of it; the sweep finds jobs that are missing. */
  add(answers: readonly Dispatched[]): void;
  known(answers: readonly Dispatched[]): Promise<boolean[]>;
  /** Ranks that have changed. */
  prioritize(answers: readonly Dispatched[]): void;
  /** Removes jobs that no worker has. A sweep finds what remains. */
  remove(answers: readonly Named[]): void;
  /** The jobs before these answers' present ones. */
  removeFormer(answers: readonly Dispatched[]): void;
  page(lane: Lane, cursor: string | undefined): Promise<JobPage>;
}

const jobOf = ({ organizationId, environment, id, dispatches }: Named): AnswerJob => ({
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
  const producerOf = ({ apart }: Lane): Producer<AnswerJob> => (apart ? apartJobs : jobs);

  /** Runs the work for each queue that some of the answers are in. */
  function inBackground<Item extends Lane>(
    name: string,
    answers: readonly Item[],
    work: (producer: Producer<AnswerJob>, some: readonly Item[]) => Promise<void>,
  ): void {
    for (const apart of [false, true]) {
      const some = answers.filter((answer) => answer.apart === apart);
      if (some.length > 0) background.run(name, () => work(producerOf({ apart }), some));
    }
  }

  const remove = (answers: readonly Named[]) =>
    inBackground('removing jobs', answers, (producer, some) => producer.remove(some.map(jobOf)));

  return {
    add: (answers) =>
      inBackground('adding jobs', answers, (producer, some) =>
        producer.add(
          some.map((answer) =>
            answer.traceparent === '' ? prioritized(answer) : { ...prioritized(answer), traceparent: answer.traceparent },
          ),
        ),
      ),
    async known(answers) {
      const known = new Map<Dispatched, boolean>();
      for (const apart of [false, true]) {
        const some = answers.filter((answer) => answer.apart === apart);
        if (some.length === 0) continue;
        const found = await producerOf({ apart }).known(some.map(jobOf));
        for (const [index, answer] of some.entries()) known.set(answer, found[index] ?? false);
      }
      return answers.map((answer) => known.get(answer) ?? false);
    },
    prioritize: (answers) => inBackground('prioritizing jobs', answers, (producer, some) => producer.prioritize(some.map(prioritized))),
    remove,
    removeFormer: (answers) => remove(answers.map((answer) => ({ ...answer, dispatches: answer.dispatches - 1 }))),
    async page(lane, cursor) {
      const { payloads, next } = await producerOf(lane).list(cursor);
      return {
        jobs: payloads.map(({ answerId: id, dispatch: dispatches, ...tenant }) => ({ ...tenant, id, dispatches, ...lane })),
        next,
      };
    },
  };
}
