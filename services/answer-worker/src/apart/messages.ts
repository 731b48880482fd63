import type { ApartJob } from '@agent-service/queues';

/** What a worker tells a process that runs answers for it. A run is one answer's job there. */
export type ToApart =
  | { readonly kind: 'run'; readonly run: number; readonly job: ApartJob }
  /** The worker stops: the answer is to be handed back. */
  | { readonly kind: 'stop'; readonly run: number }
  /** Asks for a sign of life. */
  | { readonly kind: 'ping' };

export type FromApart =
  | { readonly kind: 'ready' }
  | { readonly kind: 'alive' }
  /** The answer has been begun: if this process dies, this attempt has lost its lease. */
  | { readonly kind: 'begun'; readonly run: number; readonly attempt: number }
  | { readonly kind: 'done'; readonly run: number };
