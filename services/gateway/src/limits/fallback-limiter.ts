import type { Limiter } from '@agent-service/http/limits/limits';
import type { LocalLimiter } from '@agent-service/http/limits/local-limiter';

const failuresBeforePause = 3;
const pauseMs = 500;

interface FallbackOptions {
  readonly shared: Limiter;
  readonly local: LocalLimiter;
  readonly now?: () => number;
  readonly onFallback?: () => void;
  /** Called with the first failure after a success. */
  readonly onFailure?: (cause: unknown) => void;
}

/**
 * While Redis fails, this process limits by itself. After a few failures in a row it does not call Redis for half a second, so that
 * a Redis that hangs does not delay every request.
 */
export function createFallbackLimiter({ shared, local, now = () => performance.now(), onFallback, onFailure }: FallbackOptions): Limiter {
  let failures = 0;
  let pausedUntil = 0;

  function noteFailure(cause: unknown): void {
    if (failures === 0) onFailure?.(cause);
    failures += 1;
    if (failures >= failuresBeforePause) pausedUntil = now() + pauseMs;
  }

  return {
    async take(rules) {
      if (now() >= pausedUntil) {
        try {
          const decision = await shared.take(rules);
          failures = 0;
          local.learn(rules, decision.states);
          return decision;
        } catch (cause) {
          noteFailure(cause);
        }
      }
      onFallback?.();
      return local.take(rules);
    },
  };
}
