const minute = 60_000;
const hour = 60 * minute;

/** The pause before each retry. */
export const retryDelaysMs: readonly number[] = [minute, 5 * minute, 30 * minute, 2 * hour, 12 * hour];

/** The longest pause that a receiver can request by Retry-After. */
export const maxDelayMs = 24 * hour;
/** The share of a pause that is added at random, so that deliveries which failed together are not retried together. */
const jitter = 0.1;

interface FailedAttempt {
  /** The number of the failed attempt; the first is 1. */
  readonly attempt: number;
  /** 0 without a Retry-After. */
  readonly retryAfterMs: number;
  readonly at: number;
  /** From 0 up to 1. */
  readonly random: number;
}

/** When the next attempt is due, or undefined after the last one. Never sooner than the schedule or the receiver says. */
export function nextAttemptAt({ attempt, retryAfterMs, at, random }: FailedAttempt): number | undefined {
  const delay = retryDelaysMs[attempt - 1];
  if (delay === undefined) return undefined;
  const requested = Math.min(retryAfterMs, maxDelayMs);
  return at + Math.max(requested, Math.ceil(delay * (1 + jitter * random)));
}

/** How many deliveries to one webhook are in flight at once; the rest waits in the database. */
export const laneWidth = 16;
/** The same for a webhook whose latest attempts failed: each further attempt may take all the time that an attempt has. */
export const narrowLaneWidth = 4;
/**
 * How many deliveries of one organization are in flight at once: a quarter of what a dispatcher has room for. Beyond it each of the
 * organization's webhooks keeps one, so that its hanging receivers do not stop its healthy ones.
 */
export const organizationWidth = 128;
