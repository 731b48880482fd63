const firstMs = 50;
const longestMs = 1_000;

/** How long to wait before the try after `failures` of them: growing to a second, and spread so that many do not come at once. */
export function pauseAfter(failures: number, random: number): number {
  const full = Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 10));
  return full / 2 + (full / 2) * random;
}
