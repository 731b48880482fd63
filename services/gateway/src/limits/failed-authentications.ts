import { type Decision, type Limiter, remaining } from '@agent-service/http/replies/limits';
import { LRUCache } from 'lru-cache';
import type { Rules } from './rules.ts';

const maxAddresses = 10_000;

export interface FailedAuthentications {
  /** The exhausted limit of this address; undefined while it may try further credentials. */
  refusalOf(addressOf: () => string): Decision | undefined;
  count(address: string): Promise<void>;
}

/**
 * All gateways count the failures of an address together. Each remembers the addresses whose limit is exhausted, so that a valid
 * request reads no counter. A gateway learns of an exhausted limit with the first failure that it counts itself.
 */
export function createFailedAuthentications(
  limiter: Limiter,
  rules: Pick<Rules, 'forFailedAuthentication'>,
  now: () => number = () => performance.now(),
): FailedAuthentications {
  const exhausted = new LRUCache<string, { readonly decision: Decision; readonly endsAtMs: number }>({ max: maxAddresses });
  return {
    refusalOf(addressOf) {
      if (exhausted.size === 0) return undefined;
      const address = addressOf();
      const known = exhausted.get(address);
      const leftMs = (known?.endsAtMs ?? 0) - now();
      if (known && leftMs > 0) return { allowed: false, states: known.decision.states.map((state) => ({ ...state, resetMs: leftMs })) };
      exhausted.delete(address);
      return undefined;
    },
    async count(address) {
      const decision = await limiter.take(rules.forFailedAuthentication(address));
      const [state] = decision.states;
      if (state && remaining(state) === 0) exhausted.set(address, { decision, endsAtMs: now() + state.resetMs });
    },
  };
}
