import type { Reply } from './replies.ts';

type RunReply = Exclude<Reply, { kind: 'ended' }>;

/**
 * Selects the replies that a reader gets. The deltas since the last `started` are always a prefix of the newest text: an attempt may
 * restart its text, and after a delta that may be missing no more deltas are passed on. The whole message follows at the end.
 */
export class ReplyFilter {
  /** The newest attempt that the reader knows; 0 before the first. */
  attempt = 0;
  #restarts = 0;
  #hasDeltas = false;
  #isComplete = false;
  #ended = false;
  #text = '';

  /** Returns the reply to pass on; undefined if the reader must not see this one. */
  take(reply: Reply): Reply | undefined {
    if (this.#ended) return undefined;
    if (reply.kind === 'ended') {
      this.#ended = true;
      return reply;
    }
    const age = reply.attempt - this.attempt || (reply.restarts ?? 0) - this.#restarts;
    if (age < 0) return undefined;
    if (age > 0) return this.#restart(reply);
    if (reply.kind === 'delta') return this.#add(reply);
    if (reply.kind === 'tool') return reply;
    // Before any delta, a second `started` says nothing new.
    return this.#hasDeltas ? this.#restart(reply) : undefined;
  }

  /** Call it when a reply may have been lost, or was not passed on. */
  interrupt(): void {
    this.#isComplete = false;
  }

  /** The text that the reader has: the deltas since the last `started`. */
  get text(): string {
    return this.#text;
  }

  /** False where every reply of a later text was lost. */
  isPrefixOf(text: string): boolean {
    return text.startsWith(this.#text);
  }

  #add(delta: Extract<RunReply, { kind: 'delta' }>): Reply | undefined {
    this.#hasDeltas = true;
    if (!this.#isComplete) return undefined;
    this.#text += delta.text;
    return delta;
  }

  /** A new text voids the one before it, also when its `started` was lost. */
  #restart({ kind, id, attempt, restarts = 0 }: RunReply): Reply {
    this.attempt = attempt;
    this.#restarts = restarts;
    this.#hasDeltas = kind === 'delta';
    this.#isComplete = kind === 'started';
    this.#text = '';
    return { kind: 'started', id, attempt };
  }
}
