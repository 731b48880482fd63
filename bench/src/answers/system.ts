import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient, operatorService } from '@agent-service/contracts';
import { startChild } from '../child.ts';
import { onEnd } from '../cleanup.ts';
import { type BenchSystem, startBenchSystem } from '../system.ts';
import { writeModelsFile } from './models-file.ts';

export interface AnswersSystem extends BenchSystem {
  readonly modelUrl: string;
  /** Sends a request as the demonstration's administrator, or with the given key. */
  call<Data>(method: string, path: string, body?: object, key?: string): Promise<Data>;
  /** An organization with credits, an agent that is active, and the path of its messages. */
  organization(name: string): Promise<{ key: string; messages: string }>;
}

const issued = 1_000_000_000;
const limit = 2_000_000_00;

/** The whole system, answering by a model in a process of its own that takes so long. */
export async function startAnswersSystem(modelDelayMs: number, settings: Record<string, string> = {}): Promise<AnswersSystem> {
  const folder = mkdtempSync(join(tmpdir(), 'agent-service-models-'));
  const remove = onEnd(async () => rmSync(folder, { recursive: true, force: true }));
  const model = await startChild('answers/model.ts', { MODEL_DELAY_MS: String(modelDelayMs) });
  const modelUrl = `http://127.0.0.1:${model.port}/v1`;
  const bench = await startBenchSystem({ MODELS_FILE: writeModelsFile(folder, modelUrl), ...settings });

  async function call<Data>(method: string, path: string, body?: object, key = bench.key): Promise<Data> {
    const response = await fetch(`${bench.system.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as { data: Data };
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer.data;
  }

  return {
    ...bench,
    modelUrl,
    call,
    async organization(name) {
      const key = await makeOrganization(bench, name);
      const agent = await call<{ id: string }>(
        'POST',
        '/v1/agents',
        { name: 'Reporter', system_prompt: 'Answer shortly.', data_scope: { tables: [] } },
        key,
      );
      await call('PATCH', `/v1/agents/${agent.id}`, { status: 'active' }, key);
      return { key, messages: `/v1/agents/${agent.id}/messages` };
    },
    async stop() {
      await bench.stop();
      await model.stop();
      await remove();
    },
  };
}

async function makeOrganization({ system }: BenchSystem, name: string): Promise<string> {
  const options = { as: operatorService, config: { SERVICE_SECRET: [system.secrets.SERVICE_SECRET] } };
  const identity = createClient('identity', { ...options, address: system.endpoints['identity'] ?? '' });
  const credits = createClient('credits', { ...options, address: system.endpoints['credits'] ?? '' });
  try {
    const created = await identity.createOrganization({ name });
    await credits.grant({ tenant: { organizationId: created.organizationId, environment: 'live' }, grantId: name, amount: String(issued) });
    const allocation = await fetch(`${system.url}/v1/credits/users/${created.userId}/allocation`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${created.liveApiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ monthly_limit: limit }),
    });
    if (!allocation.ok) throw new Error(`no allocation: ${allocation.status} ${await allocation.text()}`);
    return created.liveApiKey;
  } finally {
    identity.close();
    credits.close();
  }
}
