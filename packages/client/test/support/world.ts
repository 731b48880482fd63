import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { seed } from '@agent-service/local/seed';
import type { LocalSystem } from '@agent-service/local/system/system';
import { modelsFileFor, type ScriptedModel, scriptedModel, servedAnswers, testSystem, withoutRateLimits } from '@agent-service/testkit';
import { apiKey, type Client, type ClientOptions, createClient } from '../../src/index.ts';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';

/** A running system with two gateways and a scripted model, and a proxy before the first of them. */
export interface ClientWorld {
  readonly system: LocalSystem;
  readonly credentials: { api_keys: { live: string; test: string }; oauth: { client_id: string; client_secret: string } };
  readonly proxy: FaultProxy;
  readonly gateways: readonly string[];
  readonly client: Client;
  readonly agentId: string;
  /** The messages that the model got. */
  readonly messages: string[];
  connect(options?: Partial<ClientOptions>): Client;
  stop(): Promise<void>;
}

/** The answer to every message: long enough to be streamed in many pieces. */
export const answerText = 'You sold one hundred and twenty orders in January and forty more in February.';

export async function startClientWorld(settings: Readonly<Record<string, string>> = {}): Promise<ClientWorld> {
  const received: string[] = [];
  const model: ScriptedModel = await scriptedModel(({ messages }) => {
    const message = String(messages.findLast(({ role }) => role === 'user')?.content ?? '');
    received.push(message);
    if (message.includes('fail')) return { kind: 'failure', status: 400, message: 'No.' };
    return {
      kind: 'text',
      text: answerText,
      ...(message.includes('slow') && { pieceDelayMs: 60 }),
      ...(message.includes('very') && { delayMs: 1_200 }),
    };
  });
  const system = await testSystem(
    { ...withoutRateLimits, MODELS_FILE: await modelsFileFor(model), REPLICAS: 'gateway=2', ...settings },
    { seed },
  );
  const credentials = JSON.parse(readFileSync(join(system.dataDir, 'credentials.json'), 'utf8')) as ClientWorld['credentials'];
  const proxy = await startFaultProxy(system.url, await servedAnswers(system.url));
  const connect = (options: Partial<ClientOptions> = {}) =>
    createClient({ baseUrl: proxy.url, auth: apiKey(credentials.api_keys.live), ...options });
  const client = connect();
  const { data: agent } = await client.post('/v1/agents', {
    body: { name: 'Sales', system_prompt: 'Answer.', data_scope: { tables: [] } },
  });
  await client.patch('/v1/agents/{agent_id}', { path: { agent_id: agent.id }, body: { status: 'active' } });
  return {
    system,
    credentials,
    proxy,
    gateways: ['gateway', 'gateway-2'].flatMap((name) => system.endpoints[name] ?? []),
    client,
    agentId: agent.id,
    messages: received,
    connect,
    async stop() {
      await proxy.stop();
      await system.stop();
      await model.stop();
    },
  };
}
