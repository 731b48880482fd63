import { LRUCache } from 'lru-cache';
import { type Decision, type Limiter, type LimitState, type Rule, windowMs } from './limits.ts';

export interface Counter {
  readonly count: number;
  readonly endsAtMs: number;
}

interface LimitOutcome {
  readonly allowed: boolean;
  /** The counters after this request. */
  readonly counters: readonly Counter[];
}

/**
 * Decides on one request by several fixed windows: all must have room. A refused request is not counted, so that a client that waits
 * as long as Retry-After says gets its whole allowance. `counted` says for each window whether the request counts there.
 */
export function applyLimits(
  known: readonly (Counter | undefined)[],
  limits: readonly number[],
  nowMs: number,
  counted: readonly boolean[] = [],
): LimitOutcome {
  const current = known.map((counter) => (counter && counter.endsAtMs > nowMs ? counter : { count: 0, endsAtMs: nowMs + windowMs }));
  const allowed = current.every(({ count }, index) => count < (limits[index] ?? 0));
  if (!allowed) return { allowed, counters: current };
  return {
    allowed,
    counters: current.map(({ count, endsAtMs }, index) => ({ count: count + (counted[index] === false ? 0 : 1), endsAtMs })),
  };
}

const maxCounters = 100_000;

export interface LocalLimiter extends Limiter {
  /** Copies the counters of Redis, so that this limiter continues from them when Redis is away. */
  learn(rules: readonly Rule[], states: readonly LimitState[]): void;
}

/** The limits of one process, by its monotonic clock. */
export function createLocalLimiter(now: () => number = () => performance.now()): LocalLimiter {
  const counters = new LRUCache<string, Counter>({ max: maxCounters });
  const keep = (rules: readonly Rule[], values: readonly Counter[]) => {
    for (const [index, { key }] of rules.entries()) {
      const value = values[index] as Counter;
      // A window begins with the first request that it counts.
      if (value.count > 0) counters.set(key, value);
    }
  };
  return {
    async take(rules): Promise<Decision> {
      const nowMs = now();
      const limits = rules.map(({ policy }) => policy.limit);
      const outcome = applyLimits(
        rules.map(({ key }) => counters.get(key)),
        limits,
        nowMs,
        rules.map(({ onlyChecked }) => !onlyChecked),
      );
      if (outcome.allowed) keep(rules, outcome.counters);
      const states = outcome.counters.map(({ count, endsAtMs }, index) => ({
        policy: (rules[index] as Rule).policy,
        count,
        endsAtMs,
      }));
      return { allowed: outcome.allowed, states };
    },
    learn(rules, states) {
      for (const [index, { count, endsAtMs }] of states.entries())
        if (count > 0) counters.set((rules[index] as Rule).key, { count, endsAtMs });
    },
  };
}
