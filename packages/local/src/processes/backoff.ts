const firstPauseMs = 200;
const longestPauseMs = 10_000;
const settledAfterMs = 30_000;

/** How long to wait before a process that died is started again: twice as long each time, from the beginning once it had settled. */
export function nextPause(previousMs: number | undefined, uptimeMs: number): number {
  if (previousMs === undefined || uptimeMs >= settledAfterMs) return firstPauseMs;
  return Math.min(previousMs * 2, longestPauseMs);
}
