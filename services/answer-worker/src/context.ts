import type { Models } from '@agent-service/models';
import type { ReplyWriters } from '@agent-service/queues';
import type { Logger, Metrics } from '@agent-service/runtime';
import type { AnswersApi } from './answers-api.ts';
import type { InFlightAnswers } from './in-flight-answers.ts';
import type { AnswerTools, ToolsOptions } from './tools/answer-tools.ts';

/** Dependencies of the jobs that run answers. */
export interface WorkerContext {
  readonly answers: AnswersApi;
  readonly inFlight: InFlightAnswers;
  readonly models: Models;
  /** The tools of an attempt over its organization's data. */
  readonly toolsOf: (options: ToolsOptions) => AnswerTools;
  readonly replies: ReplyWriters;
  readonly meters: Meters;
  readonly logger: Logger;
  readonly now: () => number;
}

export function createMeters(metrics: Metrics) {
  return {
    inFlight: metrics.gauge('answers_in_hand', 'Answers in flight in this worker', []),
    seconds: metrics.seconds('answer_seconds', 'From the job to the end of the answer', ['tier', 'outcome']),
    firstDelta: metrics.seconds('answer_first_delta_seconds', 'From the job to the first delta of a streamed answer', ['tier']),
    toolSeconds: metrics.seconds('answer_tool_seconds', 'One step over business data', ['tool', 'outcome']),
    notBegun: metrics.counter('answers_not_begun_total', 'Jobs whose answer could not be begun', ['code']),
    processesDied: metrics.counter('answer_processes_died_total', 'Processes of answers that run apart that died with an answer', []),
    callsRepeated: metrics.counter('answer_calls_repeated_total', 'Retries of calls to agents', ['call']),
    renewalsFailed: metrics.counter('lease_renewals_failed_total', 'Failed renewals of leases', []),
  };
}

export type Meters = ReturnType<typeof createMeters>;
