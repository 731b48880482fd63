const windowMs = 300_000;
const maxSenders = 1_000;

/** The smallest difference between our clock and a sender's, in this window of time and in the one before. */
interface Sender {
  windowEndsAt: number;
  smallest: number;
  before: number;
}

/**
 * Measures how long a call was under way before it was read. Two monotonic clocks differ by a constant, which the fastest of a sender's
 * calls shows; what a call took beyond that it spent waiting, for example while this process was frozen.
 */
export class CallAges {
  readonly #senders = new Map<string, Sender>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The age of a call with this `x-sent`: 0 where it has none, and for the first call of a sender. */
  ageOf(sent: string | undefined): number {
    const [name = '', at = ''] = sent?.split(' ') ?? [];
    const difference = this.#now() - Number(at);
    if (name === '' || at === '' || Number.isNaN(difference)) return 0;
    const sender = this.#note(name, difference);
    return difference - Math.min(sender.smallest, sender.before);
  }

  #note(name: string, difference: number): Sender {
    const now = this.#now();
    const known = this.#senders.get(name);
    if (!known) {
      if (this.#senders.size >= maxSenders) this.#senders.clear();
      const first = { windowEndsAt: now + windowMs, smallest: difference, before: Number.POSITIVE_INFINITY };
      this.#senders.set(name, first);
      return first;
    }
    // Clocks drift apart slowly, so that a smallest difference of long ago is forgotten.
    if (now > known.windowEndsAt) {
      known.before = known.smallest;
      known.smallest = difference;
      known.windowEndsAt = now + windowMs;
    } else known.smallest = Math.min(known.smallest, difference);
    return known;
  }
}
