export interface TierPrice {
  base: number;
  per1kInput: number;
  per1kOutput: number;
  /** What an answer costs at most, and what is held for it. */
  ceiling: number;
}

export interface Tokens {
  input: number;
  output: number;
}

/** Prices by tier name. */
export type PriceBook = Readonly<Record<string, TierPrice>>;

export const DEFAULT_PRICES = {
  Fast: { base: 1, per1kInput: 0, per1kOutput: 1, ceiling: 4 },
  Smart: { base: 2, per1kInput: 1, per1kOutput: 2, ceiling: 10 },
  Expert: { base: 5, per1kInput: 2, per1kOutput: 4, ceiling: 25 },
  Premium: { base: 10, per1kInput: 4, per1kOutput: 8, ceiling: 50 },
} as const satisfies PriceBook;

/** The price of a tier that there is; names from outside must not reach what every object inherits. */
export function priceOf(prices: PriceBook, tier: string): TierPrice | undefined {
  return Object.hasOwn(prices, tier) ? prices[tier] : undefined;
}

/** The whole credits that an answer of this many tokens costs. */
export function chargeOf(price: TierPrice, tokens: Tokens): number {
  const exact = price.base + (tokens.input * price.per1kInput + tokens.output * price.per1kOutput) / 1000;
  return Math.min(price.ceiling, roundUp(exact));
}

/** Prices may have decimals; a rounding error of the sum must not cost a credit. */
function roundUp(credits: number): number {
  return Math.ceil(Math.round(credits * 1e6) / 1e6);
}

/** "1-4 credits per query" */
export function costEstimate(price: TierPrice): string {
  const least = chargeOf(price, { input: 0, output: 0 });
  if (least < price.ceiling) return `${least}-${price.ceiling} credits per query`;
  return least === 1 ? '1 credit per query' : `${least} credits per query`;
}
