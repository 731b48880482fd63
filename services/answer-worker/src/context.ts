import type { Models } from '@agent-service/models';
import type { Logger } from '@agent-service/runtime';
import type { AnswersApi } from './answers/answers-api.ts';
import type { Hand } from './hand/hand.ts';
import type { Meters } from './meters.ts';
import type { Replies } from './replies/replies.ts';

/** What an answer's job works with. */
export interface WorkerContext {
  readonly answers: AnswersApi;
  readonly hand: Hand;
  readonly models: Models;
  readonly replies: Replies;
  readonly meters: Meters;
  readonly logger: Logger;
  readonly now: () => number;
}
