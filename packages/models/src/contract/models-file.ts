import { readFile } from 'node:fs/promises';
import { ConfigurationError } from '@agent-service/runtime';
import { modelsFile } from './models-file-schema.ts';
import type { TierPrice } from './prices.ts';
import type { Tier } from './tiers.ts';

export { costEstimate, DEFAULT_PRICES, type TierPrice } from './prices.ts';
export { type Tier, tiers } from './tiers.ts';

/** Where one model is served. */
export interface Endpoint {
  readonly provider: 'openai-compatible' | 'anthropic';
  readonly baseUrl: string;
  readonly model: string;
  /** The environment variable that holds the key; none is sent without it. */
  readonly apiKeyEnv: string | undefined;
  /** For a whole answer; of a streamed one for each piece, and five times that for all of it. */
  readonly timeoutMs: number;
  /** How the limit of the answer's length is called; newer models of OpenAI refuse the usual name. */
  readonly outputLimitParameter: 'max_tokens' | 'max_completion_tokens';
}

export interface TierModels {
  readonly price: TierPrice;
  /** What prompt and answer may take up together. */
  readonly contextTokens: number;
  readonly maxOutputTokens: number;
  /** The provider, then its fallbacks; empty for the built-in one. */
  readonly endpoints: readonly Endpoint[];
}

export interface ModelsFile {
  readonly tiers: Readonly<Record<Tier, TierModels>>;
}

/** All that is wrong is told at once, each fault with its place in the file. */
export async function readModelsFile(path: string | undefined): Promise<ModelsFile> {
  const given = modelsFile.safeParse(path === undefined ? { tiers: {} } : await readJson(path));
  if (given.success) return given.data;
  throw malformed(path, given.error.issues.map(({ path: place, message }) => `\n    ${place.join('.') || '(file)'}: ${message}`).join(''));
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (cause) {
    throw malformed(path, cause instanceof Error ? cause.message : String(cause));
  }
}

const malformed = (path: string | undefined, reason: string) =>
  new ConfigurationError(`These settings need attention:\n  MODELS_FILE: ${path} does not describe models: ${reason}`);
