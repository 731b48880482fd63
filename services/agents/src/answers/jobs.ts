import type { AnswerJob } from '@agent-service/queues';
import type { AgentsBase } from '../base.ts';
import type { Background } from './background.ts';
import type { AnswerKey } from './key.ts';

export interface Dispatched extends AnswerKey {
  readonly dispatches: number;
  readonly priority: number;
  readonly traceparent: string;
}

/** The jobs by which workers learn of answers. */
export interface AnswerJobs {
  /** Wakes a worker up for each. While Redis is away nothing comes of it; the sweep finds jobs that are missing. */
  add(answers: readonly Dispatched[]): void;
  known(answers: readonly Dispatched[]): Promise<boolean[]>;
  /** Ranks that have changed. */
  prioritize(answers: readonly Dispatched[]): void;
  /** The jobs before these answers' present ones. */
  removeFormer(answers: readonly Dispatched[]): void;
}

const jobOf = ({ organizationId, environment, id, dispatches }: Dispatched): AnswerJob => ({
  organizationId,
  environment,
  answerId: id,
  dispatch: dispatches,
});

const prioritized = (answer: Dispatched) => ({ payload: jobOf(answer), priority: Math.max(1, answer.priority) });

export function createAnswerJobs(producer: AgentsBase['jobs'], background: Background): AnswerJobs {
  return {
    add(answers) {
      if (answers.length === 0) return;
      const jobs = answers.map((answer) =>
        answer.traceparent === '' ? prioritized(answer) : { ...prioritized(answer), traceparent: answer.traceparent },
      );
      background.run('adding jobs', () => producer.add(jobs));
    },
    known: (answers) => (answers.length === 0 ? Promise.resolve([]) : producer.known(answers.map(jobOf))),
    prioritize(answers) {
      if (answers.length > 0) background.run('prioritizing jobs', () => producer.prioritize(answers.map(prioritized)));
    },
    removeFormer(answers) {
      const former = answers.map((answer) => jobOf({ ...answer, dispatches: answer.dispatches - 1 }));
      if (former.length > 0) background.run('removing jobs', () => producer.remove(former));
    },
  };
}
