import { answerQuestion } from '@agent-service/analyst';
import type { ProcessContext } from '@agent-service/runtime';
import type { AnswerOptions, ModelAnswer, ModelRequest, Models, Provider } from './models.ts';
import { type Endpoint, type ModelsFile, type Tier, type TierModels, tiers } from './models-file.ts';
import { cleanText, estimateTokens } from './prompt.ts';
import { type Breaker, createBreaker } from './remote/breaker.ts';
import { createMeters, type Meters, remoteEndpoint } from './remote/endpoint.ts';
import { remoteProvider } from './remote/provider.ts';
import { type Conditions, realConditions } from './remote/route.ts';
import { createTransport } from './remote/transport.ts';

export interface ModelsOptions {
  /** The environment from which the keys named by `api_key_env` are read, once. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Calls of a model in one answer; 12 by default. */
  readonly maxModelCalls?: number;
  readonly conditions?: Partial<Conditions>;
  /** How the built-in provider writes numbers, as `de-DE`; English by default. */
  readonly locale?: string;
}

/** An endpoint that fails this often in a row gets no calls until a probe after the pause. */
const failuresInARow = 20;
const probePauseMs = 5_000;

/** The models of every tier, as the models file describes them. Closed with the process. */
export function createModels(
  process: ProcessContext,
  file: ModelsFile,
  { env, maxModelCalls = 12, conditions: overrides, locale }: ModelsOptions,
): Models {
  const conditions = { ...realConditions, ...overrides };
  const transport = createTransport(env);
  const meters = createMeters(process);
  const builtInProvider = createBuiltInProvider(locale);
  const breakerOf = sharedBreakers(conditions, meters);
  process.onStop('models', transport.close);

  const endpointOf = (tier: Tier, endpoint: Endpoint) =>
    remoteEndpoint({
      name: nameOf(endpoint),
      model: transport.modelOf(endpoint, keyOf(tier, endpoint, { env, logger: process.logger })),
      modelName: endpoint.model,
      breaker: breakerOf(endpoint),
      timeoutMs: endpoint.timeoutMs,
      meters,
    });

  function providerOf(name: Tier, tier: TierModels): Provider {
    if (tier.endpoints.length === 0) return builtInProvider;
    const endpoints = tier.endpoints.map((endpoint) => endpointOf(name, endpoint));
    return remoteProvider({ tier, endpoints, maxModelCalls, conditions });
  }

  const providers = new Map(tiers.map((tier) => [tier, providerOf(tier, file.tiers[tier])]));

  function providerFor({ environment, tier }: ModelRequest): Provider {
    const provider = environment === 'test' ? builtInProvider : providers.get(tier);
    if (provider) return provider;
    throw new Error(`There is no model tier ${tier}.`);
  }

  return {
    async answer(request, options) {
      return await providerFor(request).answer(request, options);
    },
    close: transport.close,
  };
}

/** The name of an endpoint in logs and metrics, without secrets. */
const nameOf = ({ baseUrl, model }: Endpoint) => `${new URL(baseUrl).host}/${model}`;

/** Private servers may need no key, so a missing key is logged and not an error. */
function keyOf(tier: Tier, endpoint: Endpoint, { env, logger }: { env: ModelsOptions['env']; logger: ProcessContext['logger'] }) {
  if (endpoint.apiKeyEnv === undefined) return undefined;
  const key = env[endpoint.apiKeyEnv]?.trim();
  if (key) return key;
  logger.warn(
    { tier, endpoint: nameOf(endpoint), variable: endpoint.apiKeyEnv },
    'the variable named by api_key_env is not set; this endpoint is called without a key',
  );
  return undefined;
}

/** Tiers with the same endpoint share its circuit breaker. */
function sharedBreakers({ monotonicNow: now }: Conditions, meters: Meters): (endpoint: Endpoint) => Breaker {
  const breakers = new Map<string, Breaker>();
  return (endpoint) => {
    const { provider, baseUrl, model, apiKeyEnv } = endpoint;
    const id = JSON.stringify([provider, baseUrl, model, apiKeyEnv]);
    const known = breakers.get(id);
    if (known) return known;
    const onChange = (open: boolean) => meters.breaker(nameOf(endpoint), open);
    meters.register(nameOf(endpoint));
    const breaker = createBreaker({ now, failures: failuresInARow, pauseMs: probePauseMs, onChange });
    breakers.set(id, breaker);
    return breaker;
  };
}

const maxPieceLength = 80;
const builtIn = 'built-in';

/** The analyst as a provider: it answers where no language model is configured, and in the `test` environment. */
const createBuiltInProvider = (locale: string | undefined): Provider => ({
  async answer(request: ModelRequest, { signal, onDelta }: AnswerOptions): Promise<ModelAnswer> {
    signal.throwIfAborted();
    const { message, context, tenant, sourceVersion, history, output, tools } = request;
    const source = JSON.stringify([tenant, sourceVersion]);
    const earlier = history.filter(({ role }) => role === 'user').map(({ content }) => content);
    const answer = await answerQuestion({ message, earlier, context, source, output, tools, locale }, signal);
    const content = cleanText(answer.content);
    signal.throwIfAborted();
    if (request.stream) for (const piece of piecesOf(content)) onDelta(piece);
    const refused = answer.outcome !== 'answered' && { refused: true };
    return {
      content,
      inputTokens: inputTokens(request),
      outputTokens: estimateTokens(content),
      endpoint: builtIn,
      model: builtIn,
      ...refused,
    };
  },
});

/** The tokens that a language model would have read for this request. */
const inputTokens = ({ instructions, context, history, message }: ModelRequest): number =>
  [instructions, context, ...history.map(({ content }) => content), message].reduce((sum, text) => sum + estimateTokens(text), 0);

/** Pieces that end at whole characters. */
const piecesOf = (content: string): string[] => content.match(new RegExp(`[\\s\\S]{1,${maxPieceLength}}`, 'gu')) ?? [];
