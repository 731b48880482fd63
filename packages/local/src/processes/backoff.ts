const firstPauseMs = 200;
const longestPauseMs = 10_000;
const stableAfterMs = 30_000;

/** Whether a process ran long enough that its death counts as the first. */
export const isStable = (uptimeMs: number): boolean => uptimeMs >= stableAfterMs;

/** How long to wait before a process that died is started again: twice as long each time, from the beginning after a stable run. */
export function nextPause(previousMs: number | undefined, uptimeMs: number): number {
  if (previousMs === undefined || isStable(uptimeMs)) return firstPauseMs;
  return Math.min(previousMs * 2, longestPauseMs);
}
