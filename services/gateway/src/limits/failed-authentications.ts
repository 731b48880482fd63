import { LRUCache } from 'lru-cache';
import { type Decision, type Limiter, remaining } from './limiter.ts';
import type { Rules } from './rules.ts';

const maxAddresses = 10_000;

export interface FailedAuthentications {
  /** Why nothing new is tried for this address at the moment; undefined where something may be. */
  refusalOf(addressOf: () => string): Decision | undefined;
  count(address: string): Promise<void>;
}

/**
 * Counts failures by address with all other gateways, and remembers here which addresses have used theirs up, so that a request
 * that authenticates costs no look at a counter. A gateway learns of it with the first failure that it sees itself.
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
