import { readModelsFile } from '@agent-service/models/models-file';
import type { PriceBook } from './domain/holds.ts';

/** The price of every tier, as the models file gives it. */
export async function readPrices(path: string | undefined): Promise<PriceBook> {
  const { tiers } = await readModelsFile(path);
  return Object.fromEntries(Object.entries(tiers).map(([tier, { price }]) => [tier, price]));
}
