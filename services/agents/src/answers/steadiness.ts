/** How long this process has been awake and in touch with its database without a failure. */
export interface Steadiness {
  /** A round went well. */
  kept(): void;
  broken(): void;
  lastsFor(ms: number): boolean;
}

/** Longer between two rounds than this, and the process was frozen or starved. */
const longestGapMs = 4_000;

export function createSteadiness(clock: () => number = () => performance.now()): Steadiness {
  let since = clock();
  let last = since;
  return {
    kept() {
      const now = clock();
      if (now - last > longestGapMs) since = now;
      last = now;
    },
    broken() {
      since = clock();
      last = since;
    },
    lastsFor: (ms) => clock() - since >= ms && clock() - last <= longestGapMs,
  };
}
