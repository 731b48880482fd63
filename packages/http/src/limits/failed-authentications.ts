import { LRUCache } from 'lru-cache';
import { type Decision, type Limiter, type LimitState, type Rule, remaining } from './limits.ts';

const maxAddresses = 10_000;

export interface FailedAuthentications {
  /** The exhausted limit of this address; undefined while it may try further credentials. */
  refusalOf(addressOf: () => string): Decision | undefined;
  count(address: string): Promise<void>;
}

/**
 * Counts the failures of each address with the limiter, whose counters processes may share. Each process remembers the addresses whose limit
 * is exhausted, so that a valid request reads no counter. It learns of an exhausted limit with the first failure that it counts itself.
 */
export function createFailedAuthentications(
  limiter: Limiter,
  rulesOf: (address: string) => readonly Rule[],
  now: () => number = () => performance.now(),
): FailedAuthentications {
  const exhausted = new LRUCache<string, LimitState>({ max: maxAddresses });
  return {
    refusalOf(addressOf) {
      if (exhausted.size === 0) return undefined;
      const address = addressOf();
      const state = exhausted.get(address);
      if (state && state.endsAtMs > now()) return { allowed: false, states: [state] };
      exhausted.delete(address);
      return undefined;
    },
    async count(address) {
      const [state] = (await limiter.take(rulesOf(address))).states;
      if (state && remaining(state, now()) === 0) exhausted.set(address, state);
    },
  };
}
