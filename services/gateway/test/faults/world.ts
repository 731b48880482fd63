import { type Client, createClient, operatorService } from '@agent-service/contracts';
import type { LocalSystem } from '@agent-service/local/system/system';
import {
  type ChatRequest,
  type DocumentedAnswers,
  modelsFileFor,
  type ScriptedModel,
  scriptedModel,
  servedAnswers,
  testSystemWithServers,
  withoutRateLimits,
} from '@agent-service/testkit';

/** A system with a database and a Redis of its own, in which a test may kill every process, and its scripted model. */
export interface FaultyWorld {
  readonly system: LocalSystem;
  readonly model: ScriptedModel;
  /** The number of requests that the model received for each message. */
  readonly modelRequests: ReadonlyMap<string, number>;
  readonly key: string;
  readonly organizationId: string;
  readonly agentId: string;
  /** Those of the gateway that ran first. */
  readonly answers: DocumentedAnswers;
  readonly credits: Client<'credits'>;
  readonly databaseUrl: string;
  /** All gateways. */
  readonly gateways: readonly string[];
  stop(): Promise<void>;
}

const issued = 100_000_000;
const monthlyLimit = 50_000_000;

const question = ({ messages }: ChatRequest) => String(messages.findLast(({ role }) => role === 'user')?.content ?? '');
/** The marker of a message, anywhere in a text. */
export const markerOf = (text: string) => /q-\d+-\d+/.exec(text)?.[0] ?? '';

export interface FaultyOptions {
  readonly modelMs: number;
  readonly settings?: Readonly<Record<string, string>>;
  /** The folder of a build that is not that of the present sources. */
  readonly build?: string;
}

export async function startFaultyWorld({ modelMs, settings = {}, ...options }: FaultyOptions): Promise<FaultyWorld> {
  const modelRequests = new Map<string, number>();
  const model = await scriptedModel((request) => {
    const marker = markerOf(question(request));
    modelRequests.set(marker, (modelRequests.get(marker) ?? 0) + 1);
    return { kind: 'text', text: `Answer to ${marker}.`, delayMs: modelMs };
  });
  const system = await testSystemWithServers(
    { ...withoutRateLimits, LOG_LEVEL: 'info', MODELS_FILE: await modelsFileFor(model), ...settings },
    options,
  );
  const connection = { as: operatorService, config: { SERVICE_SECRET: [system.secrets.SERVICE_SECRET] } };
  const identity = createClient('identity', { ...connection, address: system.endpoints['identity'] ?? '' });
  const credits = createClient('credits', { ...connection, address: system.endpoints['credits'] ?? '' });
  const tenant = await identity.createOrganization({ name: 'Faults' });
  identity.close();
  await credits.grant({ tenant: { organizationId: tenant.organizationId, environment: 'live' }, grantId: 'faults', amount: issued });
  const answers = await servedAnswers(system.url);
  const headers = { authorization: `Bearer ${tenant.liveApiKey}`, 'content-type': 'application/json' };
  const call = async <Data>(method: string, path: string, body: object) => {
    const answer = await answers.send(system.url, { method, path, headers, body: JSON.stringify(body) });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.json<{ data: Data }>().data;
  };
  await call('PUT', `/v1/credits/users/${tenant.userId}/allocation`, { monthly_limit: monthlyLimit });
  const agent = await call<{ id: string }>('POST', '/v1/agents', { name: 'Faults', system_prompt: 'Answer.', data_scope: { tables: [] } });
  await call('PATCH', `/v1/agents/${agent.id}`, { status: 'active' });
  return {
    system,
    model,
    modelRequests,
    key: tenant.liveApiKey,
    organizationId: tenant.organizationId,
    agentId: agent.id,
    answers,
    credits,
    databaseUrl: system.endpoints['postgres'] ?? '',
    gateways: Object.entries(system.endpoints).flatMap(([name, url]) => (/^gateway(-\d+)?$/.test(name) ? [url] : [])),
    async stop() {
      credits.close();
      await system.stop();
      await model.stop();
    },
  };
}
