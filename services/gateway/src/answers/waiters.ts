import { type AnswerMessage, isPublicErrorCode, overdueAnswerMessage, publicErrorCodes, ServiceError } from '@agent-service/contracts';
import type { PublicError } from '@agent-service/http/replies/error-reply';
import type { Reply } from '@agent-service/queues';

/** Which answer, of which tenant. */
export interface AnswerKey {
  readonly organizationId: string;
  readonly environment: string;
  readonly answerId: string;
}

/** A request that waits for an answer. */
export interface Waiter {
  /** Replies about the answer, in order; some may be missing and some may come twice. */
  take(reply: Reply): void;
  /** Replies may have been lost. */
  interrupted?(): void;
  /** The wait is over, or the answer was deleted. No reply follows. */
  end(reason: 'expired' | 'deleted'): void;
  /** Called several times a second. */
  tick?(nowMs: number): void;
}

/** The state of an answer; no message if it was deleted. */
export interface AnswerState {
  readonly message: AnswerMessage | null;
}

interface AcceptedWait {
  /** When the wait ends as expired. */
  readonly dueAtMs: number;
  /** The answer may have ended before the wait was opened, so its state is read at once. */
  readonly mayHaveEnded: boolean;
}

/** One registered wait. */
interface Wait {
  /** The answer was accepted under this id; from now on its state is also read every second. */
  accepted(answerId: string, accepted: AcceptedWait): void;
  close(): void;
}

interface WaiterRegistryOptions {
  /** Reads the state of an answer. */
  readonly read: (key: AnswerKey) => Promise<AnswerState>;
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number;
  /** When replies may last have been lost, by any clock. */
  readonly lastGapAt: () => number;
  readonly readEveryMs?: number;
}

interface WaitEntry {
  key: AnswerKey;
  readonly waiter: Waiter;
  dueAt: number;
  /** Infinite before the acceptance and during a read. */
  readAt: number;
}

const ended: readonly string[] = ['completed', 'failed', 'cancelled'];

/**
 * The waits of this process by answer id. The reply channel may lose replies, so the state of each awaited answer is also read once a second.
 * One timer serves all waits.
 */
export class WaiterRegistry {
  readonly #options: Required<WaiterRegistryOptions>;
  readonly #entries = new Map<string, Set<WaitEntry>>();
  #size = 0;
  #gapAt = 0;
  #closed = false;
  #emptied: (() => void) | undefined;

  constructor(options: WaiterRegistryOptions) {
    this.#options = { readEveryMs: 1_000, ...options };
  }

  get size(): number {
    return this.#size;
  }

  open(key: AnswerKey, waiter: Waiter): Wait {
    const entry: WaitEntry = { key, waiter, dueAt: Number.POSITIVE_INFINITY, readAt: Number.POSITIVE_INFINITY };
    this.#add(entry);
    return {
      accepted: (answerId, accepted) => this.#accept(entry, answerId, accepted),
      close: () => this.#remove(entry),
    };
  }

  /** Passes replies of the channel on; replies that no request waits for are dropped. */
  deliver(replies: readonly Reply[]): void {
    this.#noticeGap();
    for (const reply of replies) {
      const entries = this.#entries.get(reply.id);
      if (entries) for (const { waiter } of [...entries]) waiter.take(reply);
    }
  }

  tick(): void {
    const now = this.#options.now();
    this.#noticeGap();
    for (const entry of this.#all()) {
      if (now >= entry.dueAt) this.#end(entry, 'expired');
      else if (now >= entry.readAt) this.#read(entry);
      entry.waiter.tick?.(now);
    }
  }

  /** Gives the open waits `limitMs` to end; then ends the rest, and every later one, as expired. */
  async drain(limitMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#emptied = resolve;
    const timer = setTimeout(resolve, limitMs);
    if (this.#size > 0) await promise;
    clearTimeout(timer);
    this.#closed = true;
    for (const entry of this.#all()) if (entry.dueAt < Number.POSITIVE_INFINITY) this.#end(entry, 'expired');
  }

  #accept(entry: WaitEntry, answerId: string, { dueAtMs, mayHaveEnded }: AcceptedWait): void {
    if (answerId !== entry.key.answerId) {
      if (!this.#isHere(entry)) return;
      const former = entry.key.answerId;
      entry.key = { ...entry.key, answerId };
      // Added before it is removed: a gateway that drains waits until there is no entry.
      this.#add(entry);
      this.#remove(entry, former);
    }
    entry.dueAt = dueAtMs;
    entry.readAt = this.#options.now() + this.#options.readEveryMs;
    if (this.#closed) this.#end(entry, 'expired');
    else if (mayHaveEnded) this.#read(entry);
  }

  /** The reader logs a failure; the next second brings another attempt. */
  #read(entry: WaitEntry): void {
    entry.readAt = Number.POSITIVE_INFINITY;
    this.#options.read(entry.key).then(
      (state) => {
        entry.readAt = this.#options.now() + this.#options.readEveryMs;
        this.#apply(entry, state);
      },
      () => (entry.readAt = this.#options.now() + this.#options.readEveryMs),
    );
  }

  #apply(entry: WaitEntry, { message }: AnswerState): void {
    if (!this.#isHere(entry)) return;
    if (message === null) this.#end(entry, 'deleted');
    else if (ended.includes(message.status)) entry.waiter.take({ kind: 'ended', id: message.id, message });
  }

  #end(entry: WaitEntry, reason: 'expired' | 'deleted'): void {
    if (this.#remove(entry)) entry.waiter.end(reason);
  }

  #noticeGap(): void {
    const at = this.#options.lastGapAt();
    if (at === this.#gapAt) return;
    this.#gapAt = at;
    for (const { waiter } of this.#all()) waiter.interrupted?.();
  }

  #all(): WaitEntry[] {
    return [...this.#entries.values()].flatMap((entries) => [...entries]);
  }

  #isHere(entry: WaitEntry): boolean {
    return this.#entries.get(entry.key.answerId)?.has(entry) ?? false;
  }

  #add(entry: WaitEntry): void {
    const entries = this.#entries.get(entry.key.answerId) ?? new Set();
    this.#entries.set(entry.key.answerId, entries.add(entry));
    this.#size += 1;
  }

  /** Returns false if it was removed before. */
  #remove(entry: WaitEntry, answerId = entry.key.answerId): boolean {
    const entries = this.#entries.get(answerId);
    if (!entries?.delete(entry)) return false;
    if (entries.size === 0) this.#entries.delete(answerId);
    this.#size -= 1;
    if (this.#size === 0) this.#emptied?.();
    return true;
  }
}

/** An answer that a caller can come back to. */
export interface AcceptedAnswer {
  readonly messageId: string;
  readonly conversationId: string;
}

const detailsOf = ({ messageId, conversationId }: AcceptedAnswer) => ({ message_id: messageId, conversation_id: conversationId });

/** The error that this answer ended with; undefined unless it failed or was cancelled. */
export function failureOf({ id, conversationId, status, content, failure }: AnswerMessage): PublicError | undefined {
  if (status !== 'failed' && status !== 'cancelled') return undefined;
  const details = detailsOf({ messageId: id, conversationId });
  // The content says that the answer cost nothing, and whether it had changed business data.
  if (status === 'cancelled') return new ServiceError('answer_cancelled', { message: content || undefined, details });
  if (failure?.code === 'answer_timeout') return deadlineError(failure.message, details);
  if (failure && isPublicErrorCode(failure.code)) return new ServiceError(failure.code, { message: failure.message || undefined, details });
  return new ServiceError('internal', { details, cause: new Error(`an answer failed with ${failure?.code}`) });
}

/** Details for a caller whose wait ends before the answer. */
export const runningDetails = (accepted: AcceptedAnswer) => ({ ...detailsOf(accepted), status: 'running' as const });

/** The wait is over; the work continues. */
export const waitLimitError = (accepted: AcceptedAnswer) => new ServiceError('answer_timeout', { details: runningDetails(accepted) });

/** The code's own message promises an answer, which does not come any more after the deadline. */
function deadlineError(message: string, details: object): PublicError {
  const text = message === '' || message === publicErrorCodes.answer_timeout.message ? overdueAnswerMessage : message;
  return new ServiceError('answer_timeout', { message: text, details: { ...details, status: 'failed' } });
}

/** The answer was deleted, which only happens together with its agent. */
export const answerDeletedError = (accepted: AcceptedAnswer) => new ServiceError('agent_deleted', { details: detailsOf(accepted) });
