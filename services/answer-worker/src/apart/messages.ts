import type { AnswerJob } from '@agent-service/queues';

/** What a worker tells the process that runs one answer at a time for it. */
export type ToApart =
  | { readonly kind: 'run'; readonly job: AnswerJob }
  /** The worker stops: the answer is to be handed back. */
  | { readonly kind: 'stop' };

export type FromApart =
  | { readonly kind: 'ready' }
  /** The answer has been begun: if this process dies, this attempt has lost its lease. */
  | { readonly kind: 'begun'; readonly attempt: number }
  | { readonly kind: 'done' };
