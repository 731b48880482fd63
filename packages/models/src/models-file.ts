import { readFile } from 'node:fs/promises';
import { type Tier, tiers } from '@agent-service/contracts/agents/fields';
import { ConfigurationError, setting } from '@agent-service/runtime/config';
import { reasonOf } from '@agent-service/runtime/failures';
import JSON5 from 'json5';
import { z } from 'zod';

export { type Tier, tiers };

/** Settings of every service that needs the models or their prices. */
export const modelsSettings = {
  MODELS_FILE: setting
    .text()
    .optional()
    .describe(
      "The tiers' model providers, fallbacks and prices; see [models and prices](../guides/models-and-prices.md). Without it the built-in model answers at the default prices.",
    ),
};

/** The price of an answer of a tier, in credits. */
export interface TierPrice {
  readonly base: number;
  readonly per1kInput: number;
  readonly per1kOutput: number;
  /** The most that an answer costs; its hold. */
  readonly ceiling: number;
}

export const defaultPrices: Readonly<Record<Tier, TierPrice>> = {
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

/** One model at one address. */
export interface Endpoint {
  readonly provider: 'openai-compatible' | 'anthropic';
  readonly baseUrl: string;
  readonly model: string;
  /** The environment variable that holds the key; none is sent without it. */
  readonly apiKeyEnv: string | undefined;
  /** The limit of an answer; of a streamed answer the limit of each piece, and five times that for the answer. */
  readonly timeoutMs: number;
  /** The name of the parameter that limits the answer's length; newer models of OpenAI refuse `max_tokens`. */
  readonly outputLimitParameter: 'max_tokens' | 'max_completion_tokens';
  /** Fields that the provider's model needs in each request and that this service does not set. */
  readonly extraBody: Readonly<Record<string, unknown>> | undefined;
}

export interface TierModels {
  readonly price: TierPrice;
  /** The tokens of prompt and answer together. */
  readonly contextTokens: number;
  readonly maxOutputTokens: number;
  /** The provider, then its fallbacks; empty for the built-in one. */
  readonly endpoints: readonly Endpoint[];
}

export interface ModelsFile {
  readonly tiers: Readonly<Record<Tier, TierModels>>;
}

/** Reports all faults together, each with its path in the file. */
export async function readModelsFile(path: string | undefined): Promise<ModelsFile> {
  const parsed = modelsFile.safeParse(path === undefined ? { tiers: {} } : await readJson(path));
  if (parsed.success) return parsed.data;
  throw malformed(path, parsed.error.issues.map(({ path: field, message }) => `\n    ${field.join('.') || '(file)'}: ${message}`).join(''));
}

/** JSON with comments and trailing commas; a fault of the form has its line and column. */
async function readJson(path: string): Promise<unknown> {
  try {
    return JSON5.parse(await readFile(path, 'utf8'));
  } catch (cause) {
    throw malformed(path, reasonOf(cause));
  }
}

/** The environment variables that the endpoints of a models file take their keys from. */
export const keyVariablesOf = ({ tiers: byTier }: ModelsFile): string[] => [
  ...new Set(Object.values(byTier).flatMap(({ endpoints }) => endpoints.flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []))),
];

const malformed = (path: string | undefined, reason: string) =>
  new ConfigurationError([`MODELS_FILE: ${path} does not describe models: ${reason}`]);

const largestPrice = 2_000_000_000;
const anthropicUrl = 'https://api.anthropic.com/v1';
const defaultTimeoutMs = 60_000;

const credits = z.number().min(0).max(largestPrice);

const price = z
  .strictObject({ base: credits, per_1k_input: credits, per_1k_output: credits, ceiling: credits.int() })
  .transform(({ base, per_1k_input: per1kInput, per_1k_output: per1kOutput, ceiling }) => ({ base, per1kInput, per1kOutput, ceiling }));

/** Credentials in an address would be logged, and a query would be lost after the path. */
const baseUrl = z.string().superRefine((value, context) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol)) context.addIssue('must be a URL that begins with http:// or https://');
  else if (url.username || url.password) context.addIssue('must not contain credentials; name an environment variable in api_key_env');
  else if (url.search || url.hash) context.addIssue('must not have a query or a fragment');
});

const common = {
  model: z.string().min(1).max(200),
  api_key_env: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable')
    .optional(),
  timeout_ms: z.int().min(100).max(600_000).optional(),
};

const ownFields = [
  ...['model', 'messages', 'max_tokens', 'max_completion_tokens', 'tools', 'tool_choice'],
  ...['response_format', 'stream', 'stream_options'],
];

const extraBody = z.record(z.string(), z.json()).superRefine((body, context) => {
  const refused = ownFields.filter((field) => field in body);
  if (refused.length > 0) context.addIssue(`must not have ${refused.join(', ')}, which the service sets`);
});

const openaiCompatible = z.strictObject({
  provider: z.literal('openai-compatible'),
  base_url: baseUrl,
  ...common,
  output_limit_parameter: z.enum(['max_tokens', 'max_completion_tokens']).default('max_tokens'),
  extra_body: extraBody.optional(),
});

const anthropic = z.strictObject({ provider: z.literal('anthropic'), base_url: baseUrl.default(anthropicUrl), ...common });

type EndpointInput = z.output<typeof openaiCompatible | typeof anthropic>;

const ofTier = {
  price: price.optional(),
  context_tokens: z.int().min(1_000).max(10_000_000).default(32_000),
  max_output_tokens: z.int().min(1).max(1_000_000).default(4_096),
};
const withFallbacks = {
  ...ofTier,
  fallbacks: z
    .array(z.discriminatedUnion('provider', [openaiCompatible, anthropic]))
    .max(10)
    .default([]),
};

const configured = z.discriminatedUnion('provider', [
  openaiCompatible.extend(withFallbacks),
  anthropic.extend(withFallbacks),
  z.strictObject({ provider: z.literal('built-in'), ...ofTier }),
]);

/** A tier that names no provider has the built-in one. */
const nameProvider = (input: unknown) =>
  input !== null && typeof input === 'object' && !('provider' in input) ? { provider: 'built-in', ...input } : input;

const roomForPrompt = { error: 'must be less than context_tokens', path: ['max_output_tokens'] };
const tier = z
  .preprocess(nameProvider, configured)
  .refine(({ context_tokens, max_output_tokens }) => max_output_tokens < context_tokens, roomForPrompt)
  .prefault({});

type TierInput = z.output<typeof tier>;

const endpointOf = (input: EndpointInput, timeoutMs: number) => ({
  provider: input.provider,
  baseUrl: input.base_url.replace(/\/+$/, ''),
  model: input.model,
  apiKeyEnv: input.api_key_env,
  timeoutMs,
  outputLimitParameter: input.provider === 'openai-compatible' ? input.output_limit_parameter : 'max_tokens',
  extraBody: input.provider === 'openai-compatible' ? input.extra_body : undefined,
});

function endpointsOf(input: TierInput) {
  if (input.provider === 'built-in') return [];
  const timeoutMs = input.timeout_ms ?? defaultTimeoutMs;
  return [endpointOf(input, timeoutMs), ...input.fallbacks.map((fallback) => endpointOf(fallback, fallback.timeout_ms ?? timeoutMs))];
}

const tierOf = (input: TierInput, standard: TierPrice) => ({
  price: input.price ?? standard,
  contextTokens: input.context_tokens,
  maxOutputTokens: input.max_output_tokens,
  endpoints: endpointsOf(input),
});

const byTier = { Fast: tier, Smart: tier, Expert: tier, Premium: tier } satisfies Record<Tier, unknown>;

/** The schema of a models file. Unknown names are refused, so that a misspelt one is not silently a default. */
const modelsFile = z.strictObject({ tiers: z.strictObject(byTier) }).transform(({ tiers }) => ({
  tiers: {
    Fast: tierOf(tiers.Fast, defaultPrices.Fast),
    Smart: tierOf(tiers.Smart, defaultPrices.Smart),
    Expert: tierOf(tiers.Expert, defaultPrices.Expert),
    Premium: tierOf(tiers.Premium, defaultPrices.Premium),
  },
}));
