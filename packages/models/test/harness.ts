import { createClock, createHealth, createLogger, createMetrics, type Metrics } from '@agent-service/runtime';
import { createModels } from '../src/create-models.ts';
import type { ModelAnswer, ModelRequest, Models } from '../src/models.ts';
import { defaultPrices, type Endpoint, type ModelsFile, type TierModels } from '../src/models-file.ts';
import type { Conditions } from '../src/remote/route.ts';

interface TestModels {
  readonly models: Models;
  readonly metrics: Metrics;
  /** The log lines. */
  readonly logged: string[];
  /** The pauses before retries, which take no time here. */
  readonly pauses: number[];
  /** Moves the breakers' clock. */
  pass(ms: number): void;
}

export interface TestModelsOptions {
  readonly endpoints: readonly Partial<Endpoint>[];
  readonly tier?: Partial<TierModels>;
  readonly env?: Record<string, string>;
  readonly maxModelCalls?: number;
  readonly conditions?: Partial<Conditions>;
}

const endpoint = (fields: Partial<Endpoint>): Endpoint => ({
  provider: 'openai-compatible',
  baseUrl: 'http://127.0.0.1:9/v1',
  model: 'm',
  apiKeyEnv: undefined,
  timeoutMs: 5_000,
  outputLimitParameter: 'max_tokens',
  extraBody: undefined,
  ...fields,
});

const logger = createLogger('models-test', 'silent');

/** Models with the endpoints of a test as the Fast tier, and the analyst as the others. Pauses are recorded and take no time. */
export function testModels({ endpoints, tier, env = {}, maxModelCalls, conditions }: TestModelsOptions): TestModels {
  const logged: string[] = [];
  const pauses: number[] = [];
  const metrics = createMetrics('models-test');
  let now = 1_000;
  const note = (event: unknown) => void logged.push(JSON.stringify(event));
  const process = {
    name: 'models-test',
    logger: Object.assign(Object.create(logger), { warn: note, error: note, info: note }),
    health: createHealth(logger),
    metrics,
    clock: createClock(),
    draining: new AbortController().signal,
    stopping: new AbortController().signal,
    onStop: () => undefined,
  };
  const none: TierModels = { price: defaultPrices.Fast, contextTokens: 32_000, maxOutputTokens: 4_096, endpoints: [] };
  const file: ModelsFile = {
    tiers: { Fast: { ...none, ...tier, endpoints: endpoints.map(endpoint) }, Smart: none, Expert: none, Premium: none },
  };
  const models = createModels(process, file, {
    env,
    ...(maxModelCalls === undefined ? {} : { maxModelCalls }),
    conditions: {
      monotonicNow: () => now,
      random: () => 0,
      pause: async (ms) => void pauses.push(ms),
      ...conditions,
    },
  });
  return { models, metrics, logged, pauses, pass: (ms) => void (now += ms) };
}

export interface ReadAnswer extends ModelAnswer {
  /** The deltas since the last restart, together. */
  readonly read: string;
  readonly deltas: readonly string[];
  readonly restarts: number;
}

const request = (fields: Partial<ModelRequest> = {}): ModelRequest => ({
  tier: 'Fast',
  environment: 'live',
  tenant: 'org_a',
  sourceVersion: 1,
  instructions: 'Be brief.',
  context: '',
  history: [],
  message: 'How did the month go?',
  stream: false,
  tools: [],
  output: { format: 'markdown', charts: false },
  ...fields,
});

/** Asks for an answer and collects its deltas as a gateway does. */
export async function ask(models: Models, fields: Partial<ModelRequest> = {}, signal = AbortSignal.timeout(20_000)): Promise<ReadAnswer> {
  let deltas: string[] = [];
  let restarts = 0;
  const answer = await models.answer(request(fields), {
    signal,
    onDelta: (text) => void deltas.push(text),
    onRestart: () => {
      deltas = [];
      restarts += 1;
    },
  });
  return { ...answer, read: deltas.join(''), deltas, restarts };
}

/** The value of a metric with these labels; 0 if it has no value. */
export async function metric(metrics: Metrics, name: string, labels: Record<string, string>): Promise<number> {
  const values = (await metrics.registry.getSingleMetric(name)?.get())?.values ?? [];
  return values.find((one) => Object.entries(labels).every(([label, value]) => one.labels[label] === value))?.value ?? 0;
}
