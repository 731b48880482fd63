import type { ModelFailure } from './failure.ts';

/** Before the second and the third try. */
const pausesMs = [500, 1_000] as const;
const jitter = 0.2;
const longestRetryAfterMs = 10_000;

/** How long to wait before the next try at the same endpoint; undefined if there is none. */
export function pauseBeforeRetry(failure: ModelFailure, triesSoFar: number, random: () => number): number | undefined {
  const pauseMs = pausesMs[triesSoFar - 1];
  const { retryAfterMs = 0 } = failure;
  if (!failure.mayPass || pauseMs === undefined || retryAfterMs > longestRetryAfterMs) return undefined;
  return Math.max(pauseMs, retryAfterMs) * (1 + jitter * random());
}
