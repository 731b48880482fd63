import type { AnswerMessage } from '@agent-service/contracts';
import type { Reply } from '@agent-service/queues';

/** Which answer, of which tenant. */
export interface AnswerKey {
  readonly organizationId: string;
  readonly environment: string;
  readonly answerId: string;
}

/** Somebody who waits for an answer. */
export interface Waiter {
  /** News of the answer, in order; not everything comes, and the same may come twice. */
  take(reply: Reply): void;
  /** News may have been lost. */
  interrupted?(): void;
  /** The time to wait is over, or the answer is not there any more. No word follows. */
  end(reason: 'expired' | 'gone'): void;
  /** Called several times a second. */
  tick?(nowMs: number): void;
}

/** What agents says of an answer; no message when there is no such answer any more. */
export interface Standing {
  readonly message: AnswerMessage | null;
  readonly attempt: number;
}

/** A place in the waiting room. */
interface Wait {
  /** The answer was accepted, under this id; from now on it is read back too. */
  accepted(answerId: string, dueAtMs: number, readNow: boolean): void;
  close(): void;
}

interface WaitsOptions {
  /** How an answer stands. */
  readonly read: (key: AnswerKey) => Promise<Standing>;
  readonly now: () => number;
  /** When news may have been lost last. */
  readonly lastGapAt: () => number;
  readonly readEveryMs?: number;
}

interface Place {
  key: AnswerKey;
  readonly waiter: Waiter;
  dueAt: number;
  /** Infinite while it is not accepted or being read. */
  readAt: number;
}

const ended: readonly string[] = ['completed', 'failed', 'cancelled'];

/**
 * Everybody in this process who waits for an answer, by its id. News comes by the reply channel, which may lose it; so each second
 * what is still waited for is read back. One tick serves them all.
 */
export class Waits {
  readonly #options: Required<WaitsOptions>;
  readonly #places = new Map<string, Set<Place>>();
  #size = 0;
  #gapAt = 0;
  #closed = false;
  #emptied: (() => void) | undefined;

  constructor(options: WaitsOptions) {
    this.#options = { readEveryMs: 1_000, ...options };
  }

  get size(): number {
    return this.#size;
  }

  open(key: AnswerKey, waiter: Waiter): Wait {
    const place: Place = { key, waiter, dueAt: Number.POSITIVE_INFINITY, readAt: Number.POSITIVE_INFINITY };
    this.#add(place);
    return {
      accepted: (answerId, dueAtMs, readNow) => this.#accept(place, answerId, dueAtMs, readNow),
      close: () => this.#remove(place),
    };
  }

  /** News from the reply channel; what nobody waits for is nobody's. */
  deliver(replies: readonly Reply[]): void {
    this.#noticeGap();
    for (const reply of replies) {
      const places = this.#places.get(reply.id);
      if (places) for (const { waiter } of [...places]) waiter.take(reply);
    }
  }

  tick(): void {
    const now = this.#options.now();
    this.#noticeGap();
    for (const place of this.#all()) {
      if (now >= place.dueAt) this.#end(place, 'expired');
      else if (now >= place.readAt) this.#read(place);
      place.waiter.tick?.(now);
    }
  }

  /** Lets those who wait have their answers for so long; then everybody is told that the time is over, and so is who comes later. */
  async drain(limitMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#emptied = resolve;
    const timer = setTimeout(resolve, limitMs);
    if (this.#size > 0) await promise;
    clearTimeout(timer);
    this.#closed = true;
    for (const place of this.#all()) if (place.dueAt < Number.POSITIVE_INFINITY) this.#end(place, 'expired');
  }

  #accept(place: Place, answerId: string, dueAtMs: number, readNow: boolean): void {
    if (answerId !== place.key.answerId) {
      if (!this.#remove(place)) return;
      place.key = { ...place.key, answerId };
      this.#add(place);
    }
    place.dueAt = dueAtMs;
    place.readAt = this.#options.now() + this.#options.readEveryMs;
    if (this.#closed) this.#end(place, 'expired');
    else if (readNow) this.#read(place);
  }

  /** A failure is told by whoever reads; the next second brings another try. */
  #read(place: Place): void {
    place.readAt = Number.POSITIVE_INFINITY;
    this.#options.read(place.key).then(
      (standing) => {
        place.readAt = this.#options.now() + this.#options.readEveryMs;
        this.#learn(place, standing);
      },
      () => (place.readAt = this.#options.now() + this.#options.readEveryMs),
    );
  }

  #learn(place: Place, { message }: Standing): void {
    if (!this.#isHere(place)) return;
    if (message === null) this.#end(place, 'gone');
    else if (ended.includes(message.status)) place.waiter.take({ kind: 'ended', id: message.id, message });
  }

  #end(place: Place, reason: 'expired' | 'gone'): void {
    if (this.#remove(place)) place.waiter.end(reason);
  }

  #noticeGap(): void {
    const at = this.#options.lastGapAt();
    if (at === this.#gapAt) return;
    this.#gapAt = at;
    for (const { waiter } of this.#all()) waiter.interrupted?.();
  }

  #all(): Place[] {
    return [...this.#places.values()].flatMap((places) => [...places]);
  }

  #isHere(place: Place): boolean {
    return this.#places.get(place.key.answerId)?.has(place) ?? false;
  }

  #add(place: Place): void {
    const places = this.#places.get(place.key.answerId) ?? new Set();
    this.#places.set(place.key.answerId, places.add(place));
    this.#size += 1;
  }

  /** Whether it was there. */
  #remove(place: Place): boolean {
    const places = this.#places.get(place.key.answerId);
    if (!places?.delete(place)) return false;
    if (places.size === 0) this.#places.delete(place.key.answerId);
    this.#size -= 1;
    if (this.#size === 0) this.#emptied?.();
    return true;
  }
}
