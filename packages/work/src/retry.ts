import { sleep } from './timing.ts';

export interface RetryPolicy {
  /** Time before the next attempt, given how many have failed; undefined where the failure is final. */
  readonly pauseAfter: (failures: number, cause: unknown) => number | undefined;
  /** Ends the pauses. An attempt that is under way goes on. */
  readonly signal?: AbortSignal | undefined;
  /** Called before each further attempt. */
  readonly onRetry?: (failures: number, cause: unknown) => void;
  /** Tests replace it. Returns false if the signal was aborted. */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<boolean>;
}

/** Runs `work` until it succeeds. Throws the last failure where the policy allows no further attempt or the signal is aborted. */
export async function retry<T>(work: (attempt: number) => Promise<T>, policy: RetryPolicy): Promise<T> {
  const { pauseAfter, signal, onRetry, sleep: pause = sleep } = policy;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(attempt);
    } catch (cause) {
      const pauseMs = pauseAfter(attempt, cause);
      if (pauseMs === undefined || !(await pause(pauseMs, signal))) throw cause;
      onRetry?.(attempt, cause);
    }
  }
}

/** Loads at the first call, and again at the first one after a failure. Calls in between share what was loaded. */
export function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () =>
    (loaded ??= load().catch((cause: unknown) => {
      loaded = undefined;
      throw cause;
    }));
}

export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
  /** Share of the pause that is added at random, so that processes which failed together do not retry together. */
  readonly jitter?: number;
  readonly random?: () => number;
}

/** Pauses that double from `firstMs` to `maxMs`. */
export function createBackoff({ firstMs, maxMs, jitter = 0, random = Math.random }: Backoff): (failures: number) => number {
  return (failures) => Math.min(maxMs, firstMs * 2 ** (failures - 1)) * (1 + jitter * random());
}
