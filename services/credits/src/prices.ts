import { readFile } from 'node:fs/promises';
import { ConfigurationError } from '@agent-service/runtime';
import { z } from 'zod';
import { MAX_AMOUNT } from './domain/amounts.ts';
import { DEFAULT_PRICES, type PriceBook } from './domain/price.ts';

const credits = z.number().min(0).max(MAX_AMOUNT);

const price = z
  .object({ base: credits, per_1k_input: credits, per_1k_output: credits, ceiling: credits.int() })
  .transform(({ base, per_1k_input: per1kInput, per_1k_output: per1kOutput, ceiling }) => ({ base, per1kInput, per1kOutput, ceiling }));

const tier = z.object({ price: price.optional() }).optional();

/** What is here of a file that describes the models to others as well. */
const modelsFile = z.object({ tiers: z.object({ Fast: tier, Smart: tier, Expert: tier, Premium: tier }) });

/** The price book: the default prices, and instead of them those that the models file gives. */
export async function readPrices(path: string | undefined): Promise<PriceBook> {
  if (path === undefined) return DEFAULT_PRICES;
  const given = modelsFile.safeParse(await readJson(path));
  if (!given.success) throw malformed(path, z.prettifyError(given.error));
  const tiers = Object.entries(given.data.tiers);
  return { ...DEFAULT_PRICES, ...Object.fromEntries(tiers.flatMap(([name, of]) => (of?.price ? [[name, of.price]] : []))) };
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (cause) {
    throw malformed(path, cause instanceof Error ? cause.message : String(cause));
  }
}

const malformed = (path: string, reason: string) =>
  new ConfigurationError(`These settings need attention:\n  MODELS_FILE: ${path} does not describe models: ${reason}`);
