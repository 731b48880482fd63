import type { Breaker } from './breaker.ts';
import type { Conditions } from './conditions.ts';

const longestMs = 5_000;
/** So that those who wait do not all come at once. */
const jitterMs = 500;

type Waiting = Pick<Conditions, 'pause' | 'random'>;

/** Waits until the first of endpoints that are all left alone may be tried again, or is being tried. */
export async function untilProbe(breakers: readonly Breaker[], { pause, random }: Waiting, signal: AbortSignal): Promise<void> {
  const standings = breakers.map((breaker) => breaker.standing());
  const waitMs = Math.min(longestMs, ...standings.map(({ probeInMs }) => probeInMs));
  if (waitMs > 0) await pause(waitMs + jitterMs * random(), signal);
}

/** Waits for what the first finds who tries one of them: it is true for all. */
export async function untilProbed(breakers: readonly Breaker[], { pause, random }: Waiting, signal: AbortSignal): Promise<void> {
  const trials = breakers.flatMap((breaker) => breaker.standing().probed ?? []);
  if (trials.length === 0) return;
  const ended = new AbortController();
  const limit = pause(longestMs + jitterMs * random(), AbortSignal.any([signal, ended.signal]));
  try {
    await Promise.race([...trials, limit]);
  } finally {
    // What it rejects with is its own end.
    limit.catch(() => undefined);
    ended.abort();
  }
}
