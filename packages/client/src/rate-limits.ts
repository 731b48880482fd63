/** How much of a limit is left, by its name. */
interface LimitState {
  remaining: number;
  /** On the monotonic clock. */
  resetAt: number;
}

const entry = /^"([^"]*)"\s*;(.*)$/;

/**
 * The limits that the service has told of in `RateLimit`. A request whose limit is used up waits for the next window instead of being refused.
 * Times are counted from the arrival of the header, so that the clock of this machine does not matter.
 */
export class RateLimits {
  readonly #states = new Map<string, LimitState>();
  /** The names of the limits that an operation counts against. */
  readonly #names = new Map<string, readonly string[]>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The time until this operation may be sent; 0 where nothing is known. Counts the request where it may be sent at once. */
  take(operation: string): number {
    const now = this.#now();
    const states = (this.#names.get(operation) ?? [])
      .flatMap((name) => this.#states.get(name) ?? [])
      .filter(({ resetAt }) => resetAt > now);
    const waitMs = Math.max(0, ...states.filter(({ remaining }) => remaining <= 0).map(({ resetAt }) => resetAt - now));
    if (waitMs === 0) for (const state of states) state.remaining -= 1;
    return waitMs;
  }

  /** Reads `"reads";r=599;t=60, "organization-reads";r=2999;t=60`. Answers may overtake each other: within a window the smaller rest counts. */
  learn(operation: string, header: string | null): void {
    if (header === null) return;
    const now = this.#now();
    const names: string[] = [];
    for (const part of header.split(',')) {
      const [, name, parameters] = entry.exec(part.trim()) ?? [];
      const [remaining, seconds] = [numberOf(parameters, 'r'), numberOf(parameters, 't')];
      if (name === undefined || remaining === undefined || seconds === undefined) continue;
      names.push(name);
      this.#set(name, { remaining, resetAt: now + seconds * 1_000 });
    }
    this.#names.set(operation, names);
  }

  #set(name: string, next: LimitState): void {
    const before = this.#states.get(name);
    // The request waited for so long that its window has ended: it says nothing about the present one.
    if (before !== undefined && before.resetAt > this.#now() && next.resetAt <= this.#now()) return;
    // The seconds are whole ones, so ends of one window differ by up to a second.
    const isSameWindow = before !== undefined && before.resetAt > this.#now() && Math.abs(before.resetAt - next.resetAt) < 1_500;
    this.#states.set(name, isSameWindow ? { ...next, remaining: Math.min(before.remaining, next.remaining) } : next);
  }
}

function numberOf(parameters: string | undefined, name: string): number | undefined {
  const [, digits] = new RegExp(`(?:^|;)\\s*${name}=(\\d+)`).exec(parameters ?? '') ?? [];
  return digits === undefined ? undefined : Number(digits);
}
