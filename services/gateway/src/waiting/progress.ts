import type { Reply } from '@agent-service/queues';

/**
 * What of an answer's news a reader is told. The deltas since the last `started` are always a beginning of the attempt's text: where
 * one may be missing, those after it are held back, and the whole message comes at the end anyway.
 */
export class Progress {
  /** The attempt that the reader knows of; 0 before the first. */
  attempt = 0;
  #unbroken = false;
  #ended = false;

  /** The news to pass on, if this is any. */
  take(reply: Reply): Reply | undefined {
    if (this.#ended) return undefined;
    if (reply.kind === 'ended') {
      this.#ended = true;
      return reply;
    }
    if (reply.attempt < this.attempt) return undefined;
    if (reply.attempt > this.attempt) return this.#begin(reply);
    if (reply.kind === 'started' || (reply.kind === 'delta' && !this.#unbroken)) return undefined;
    return reply;
  }

  /** Something may have been lost, or was not passed on. */
  interrupt(): void {
    this.#unbroken = false;
  }

  /** Another attempt voids what came before, whether or not the word of its beginning was lost. */
  #begin({ kind, id, attempt }: Exclude<Reply, { kind: 'ended' }>): Reply {
    this.attempt = attempt;
    this.#unbroken = kind === 'started';
    return { kind: 'started', id, attempt };
  }
}
