import type { Answers } from './answers/answers.ts';
import type { AgentsBase } from './base.ts';

/** What the methods of this service work with. */
export interface AgentsContext extends AgentsBase {
  readonly answers: Answers;
}
