import { LRUCache } from 'lru-cache';
import type { Decision, Limiter, Rule, Standing } from './limiter.ts';
import { type Counter, judge } from './window.ts';

const maxCounters = 100_000;

export interface LocalLimiter extends Limiter {
  /** Takes over how Redis counts, so that this limiter goes on from there when Redis is away. */
  learn(rules: readonly Rule[], standings: readonly Standing[]): void;
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
      const judgement = judge(
        rules.map(({ key }) => counters.get(key)),
        limits,
        nowMs,
        rules.map(({ onlyChecked }) => !onlyChecked),
      );
      if (judgement.allowed) keep(rules, judgement.counters);
      const standings = judgement.counters.map(({ count, endsAtMs }, index) => ({
        policy: (rules[index] as Rule).policy,
        count,
        resetMs: endsAtMs - nowMs,
      }));
      return { allowed: judgement.allowed, standings };
    },
    learn(rules, standings) {
      const nowMs = now();
      keep(
        rules,
        standings.map(({ count, resetMs }) => ({ count, endsAtMs: nowMs + resetMs })),
      );
    },
  };
}
