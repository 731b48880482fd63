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
