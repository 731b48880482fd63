import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, createClient, operatorService } from '@agent-service/contracts';
import { seed } from '@agent-service/local/seed';
import { readCredentials } from '@agent-service/local/system/secrets';
import type { LocalSystem } from '@agent-service/local/system/system';
import {
  modelsFileFor,
  type ReceivedResponse,
  type ScriptedModel,
  scriptedModel,
  servedAnswers,
  testSystemWithServers,
  until,
  withoutRateLimits,
} from '@agent-service/testkit';
import { Client as Database } from 'pg';

export interface Message {
  id: string;
  conversation_id: string;
  status: string;
  content: string;
  credits_consumed: number;
  queries?: { statement: string; tables: string[]; rows: number; duration_ms: number }[];
}

/** A system as `npm start` makes it, on a database server of its own which logs every statement, and with a scripted model. */
export interface DataWorld {
  readonly system: LocalSystem;
  readonly model: ScriptedModel;
  readonly organizationId: string;
  readonly keys: { readonly live: string; readonly test: string };
  readonly operator: Client<'agents'>;
  /** Runs SQL as the server's administrator, in the system's database by default. */
  sql(text: string, database?: string): Promise<(string | null)[][]>;
  urlOf(database: string, user?: string, password?: string): string;
  call(key: string, method: string, path: string, body?: object, headers?: Readonly<Record<string, string>>): Promise<ReceivedResponse>;
  /** An active agent that may see these tables. */
  agent(tables: readonly string[], more?: { key?: string; readOnly?: boolean }): Promise<string>;
  ask(agentId: string, message: string, key?: string): Promise<ReceivedResponse>;
  /** The log of a service or server. */
  log(name: string): string;
  stop(): Promise<void>;
}

export async function startDataWorld(settings: Readonly<Record<string, string>> = {}): Promise<DataWorld> {
  const model = await scriptedModel(() => ({ kind: 'text', text: 'Nothing was scripted.' }));
  const system = await testSystemWithServers(
    { ...withoutRateLimits, LOG_LEVEL: 'debug', MODELS_FILE: await modelsFileFor(model), ...settings },
    { seed },
  );
  const credentials = readCredentials(join(system.dataDir, 'credentials.json'));
  if (!credentials) throw new Error('the start left no credentials');
  const options = { as: operatorService, config: { SERVICE_SECRET: [system.secrets.SERVICE_SECRET] } };
  const operator = createClient('agents', { ...options, address: system.endpoints['agents'] ?? '' });
  const adminUrl = system.endpoints['postgres'] ?? '';
  const answers = await servedAnswers(system.url);

  const world: DataWorld = {
    system,
    model,
    organizationId: credentials.organization_id,
    keys: credentials.api_keys,
    operator,
    sql: (text, database) => once(database === undefined ? adminUrl : world.urlOf(database), text),
    urlOf(database, user, password = '') {
      const url = new URL(adminUrl);
      url.pathname = `/${database}`;
      if (user !== undefined) [url.username, url.password] = [user, password];
      return url.href;
    },
    call: (key, method, path, body, headers) =>
      answers.send(system.url, {
        method,
        path,
        headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }), ...headers },
        ...(body && { body: JSON.stringify(body) }),
      }),
    async agent(tables, { key = credentials.api_keys.live, readOnly = true } = {}) {
      const body = { name: 'Analyst', system_prompt: 'Answer from the tables.', data_scope: { tables, read_only: readOnly } };
      const { id } = dataOf<{ id: string }>(await world.call(key, 'POST', '/v1/agents', body));
      dataOf(await world.call(key, 'PATCH', `/v1/agents/${id}`, { status: 'active' }));
      return id;
    },
    ask: (agentId, message, key = credentials.api_keys.live) => world.call(key, 'POST', `/v1/agents/${agentId}/messages`, { message }),
    log: (name) => readFileSync(join(system.dataDir, 'logs', `${name}.log`), 'utf8'),
    async stop() {
      operator.close();
      await system.stop();
      await model.stop();
    },
  };
  await world.sql("alter system set log_statement = 'all'");
  await world.sql("alter system set log_line_prefix = '%m [%p] %u %a '");
  await world.sql('select pg_reload_conf()');
  await until(async () => (await world.sql('show log_statement'))[0]?.[0] === 'all');
  const { user_id } = await ownUser(world);
  dataOf(await world.call(world.keys.live, 'PUT', `/v1/credits/users/${user_id}/allocation`, { monthly_limit: 50_000 }));
  return world;
}

async function ownUser({ call, keys }: DataWorld): Promise<{ user_id: string }> {
  const [user] = dataOf<{ id: string; role: string }[]>(await call(keys.live, 'GET', '/v1/users')).filter(({ role }) => role === 'admin');
  return { user_id: user?.id ?? '' };
}

/** The data of a successful response. */
export function dataOf<Data>(answer: ReceivedResponse): Data {
  if (answer.status >= 300) throw new Error(`answered ${answer.status}: ${answer.text}`);
  return answer.json<{ data: Data }>().data;
}

async function once(url: string, text: string): Promise<(string | null)[][]> {
  const client = new Database({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query({ text, rowMode: 'array', types: { getTypeParser: () => (value: string) => value } });
    return rows as (string | null)[][];
  } finally {
    await client.end();
  }
}
