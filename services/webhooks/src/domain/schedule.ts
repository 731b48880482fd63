const minute = 60_000;
const hour = 60 * minute;

/** How long after a failed attempt the next one follows. One entry a retry. */
export const retryDelaysMs: readonly number[] = [minute, 5 * minute, 30 * minute, 2 * hour, 12 * hour];

/** What a receiver may ask for by Retry-After at most. */
export const longestDelayMs = 24 * hour;
/** Delays are lengthened by up to this part of them, so that what failed together does not come back together. */
const jitter = 0.1;

export interface FailedAttempt {
  /** Of the attempt that failed; the first is 1. */
  attempt: number;
  /** 0 without a Retry-After. */
  retryAfterMs: number;
  at: number;
  /** From 0 up to 1. */
  random: number;
}

/** When the next attempt is due, or undefined when this was the last. Never sooner than the schedule or the receiver says. */
export function nextAttemptAt({ attempt, retryAfterMs, at, random }: FailedAttempt): number | undefined {
  const delay = retryDelaysMs[attempt - 1];
  if (delay === undefined) return undefined;
  const asked = Math.min(Math.max(0, retryAfterMs), longestDelayMs);
  return at + Math.max(asked, Math.ceil(delay * (1 + jitter * random)));
}
