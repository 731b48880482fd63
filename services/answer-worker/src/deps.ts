import type { Models } from '@agent-service/models';
import type { ReplyWriters } from '@agent-service/queues';
import type { Logger } from '@agent-service/runtime';
import type { AnswersApi } from './answers-api.ts';
import type { InFlightAnswers } from './in-flight-answers.ts';
import type { Meters } from './meters.ts';
import type { AnswerTools, ToolsOptions } from './tools/answer-tools.ts';

/** Dependencies of the jobs that run answers. */
export interface WorkerDeps {
  readonly answers: AnswersApi;
  readonly inFlightAnswers: InFlightAnswers;
  readonly models: Models;
  /** The tools of an attempt over its organization's data. */
  readonly toolsOf: (options: ToolsOptions) => AnswerTools;
  readonly replies: ReplyWriters;
  readonly meters: Meters;
  readonly logger: Logger;
  readonly now: () => number;
  /** The sentence that tells a model today's date. */
  readonly today: () => string;
}
