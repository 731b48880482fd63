const mostTokens = 2 ** 31 - 1;

/** Code units. At three bytes each it still fits into a call. */
export const longestContent = 1_000_000;

/** A provider's count as a whole number that the contract can carry. */
export function countable(tokens: number): number {
  return Number.isFinite(tokens) ? Math.min(mostTokens, Math.max(0, Math.ceil(tokens))) : 0;
}
