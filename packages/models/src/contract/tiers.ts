import { type Tier, tiers } from '@agent-service/contracts/agents/fields';

export { type Tier, tiers };

/** The price of an answer of a tier, in credits. */
export interface TierPrice {
  readonly base: number;
  readonly per1kInput: number;
  readonly per1kOutput: number;
  /** The most that an answer costs; its hold. */
  readonly ceiling: number;
}

export const DEFAULT_PRICES: Readonly<Record<Tier, TierPrice>> = {
  Fast: { base: 1, per1kInput: 0, per1kOutput: 1, ceiling: 4 },
  Smart: { base: 2, per1kInput: 1, per1kOutput: 2, ceiling: 10 },
  Expert: { base: 5, per1kInput: 2, per1kOutput: 4, ceiling: 25 },
  Premium: { base: 10, per1kInput: 4, per1kOutput: 8, ceiling: 50 },
};

/** "1-4 credits per query": from an answer without tokens to the ceiling. */
export function costEstimate({ base, ceiling }: TierPrice): string {
  const least = Math.min(ceiling, Math.ceil(base));
  if (least < ceiling) return `${least}-${ceiling} credits per query`;
  return least === 1 ? '1 credit per query' : `${least} credits per query`;
}
