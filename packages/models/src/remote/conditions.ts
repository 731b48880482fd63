import { setTimeout as sleep } from 'node:timers/promises';

/** What tests replace to decide time and chance. */
export interface Conditions {
  /** Milliseconds on a clock that is never set back. */
  readonly monotonicNow: () => number;
  readonly random: () => number;
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
}

export const realConditions: Conditions = {
  monotonicNow: () => performance.now(),
  random: Math.random,
  pause: (ms, signal) => sleep(ms, undefined, { signal }),
};
