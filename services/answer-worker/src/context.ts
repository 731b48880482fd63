import type { Models } from '@agent-service/models';
import type { Logger } from '@agent-service/runtime';
import type { AnswersApi } from './answers/answers-api.ts';
import type { Hand } from './hand/hand.ts';
import type { Meters } from './meters.ts';
import type { Replies } from './replies/replies.ts';
import type { AnswerTools, Working } from './tools/answer-tools.ts';

/** What an answer's job works with. */
export interface WorkerContext {
  readonly answers: AnswersApi;
  readonly hand: Hand;
  readonly models: Models;
  /** What an answer may do with its organization's data. */
  readonly toolsOf: (working: Working) => AnswerTools;
  readonly replies: Replies;
  readonly meters: Meters;
  readonly logger: Logger;
  readonly now: () => number;
}
