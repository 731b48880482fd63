import { type Client, createClient, operatorService } from '@agent-service/contracts';
import type { LocalSystem } from '@agent-service/local/system/system';
import {
  type ChatRequest,
  type ClockShifts,
  clockShifts,
  type ModelReply,
  modelsFileFor,
  type ScriptedModel,
  scriptedModel,
  send,
  servedAnswers,
  testDatabase,
  testSystem,
  withoutRateLimits,
} from '@agent-service/testkit';
import { Client as Database } from 'pg';

interface BlastTenant {
  readonly organizationId: string;
  readonly userId: string;
  readonly key: string;
  readonly agentId: string;
}

/** A system with two replicas of each service and two tenants: `hostile` does or suffers what a test says, `steady` must not notice. */
export interface BlastWorld {
  readonly system: LocalSystem;
  readonly model: ScriptedModel;
  readonly clocks: ClockShifts;
  readonly steady: BlastTenant;
  readonly hostile: BlastTenant;
  readonly operators: Operators;
  /** The system's own database, as the server's administrator. */
  readonly databaseUrl: string;
  /**
   * Sends a request as the hostile tenant, or without a key, from an address of its own; resolves with the status, 0 where none came. An answer has to be
   * one that the document of the gateway describes.
   */
  sendHostile(method: string, path: string, body?: string, headers?: Readonly<Record<string, string>>): Promise<number>;
  /** Sends messages of the hostile tenant without waiting for their answers; resolves with the status. */
  sendHostileMessage(text: string): Promise<number>;
  /** Sets the model's reply to messages of the hostile tenant. */
  replyToHostile(reply: (request: ChatRequest) => ModelReply): void;
  connectHostileDataSource(url: string): Promise<void>;
  /** A PostgreSQL URL of an unprivileged account with a small table `stock`, and tables `table_0` to `table_199`. */
  readonly dataSourceUrl: string;
  stop(): Promise<void>;
}

interface Operators {
  readonly identity: Client<'identity'>;
  readonly credits: Client<'credits'>;
  readonly agents: Client<'agents'>;
}

/** The address that the hostile tenant's requests claim to come from: the gateway trusts this machine as a proxy. */
const hostileAddress = '203.0.113.7';
const granted = 100_000_000;
const monthlyLimit = 50_000_000;

export async function startBlastWorld(): Promise<BlastWorld> {
  let replyToHostile: (request: ChatRequest) => ModelReply = answerAtOnce;
  const model = await scriptedModel((request) => (isSteady(request) ? answerFromData(request) : replyToHostile(request)));
  const clocks = await clockShifts();
  const system = await testSystem({ ...(await writeSettings(model)), ...clocks.settings });
  const connection = { as: operatorService, config: { SERVICE_SECRET: [system.secrets.SERVICE_SECRET] } };
  const operators: Operators = {
    identity: createClient('identity', { ...connection, address: system.endpoints['identity'] ?? '' }),
    credits: createClient('credits', { ...connection, address: system.endpoints['credits'] ?? '' }),
    agents: createClient('agents', { ...connection, address: system.endpoints['agents'] ?? '' }),
  };
  const answers = await servedAnswers(system.url);
  const steady = await makeTenant(system, operators, 'Steady');
  const hostile = await makeTenant(system, operators, 'Hostile');
  const dataSource = await makeDataSource();
  await connectDataSource(operators, steady, dataSource.url);
  const world: BlastWorld = {
    system,
    model,
    clocks,
    steady,
    hostile,
    operators,
    databaseUrl: system.endpoints['postgres'] ?? '',
    dataSourceUrl: dataSource.url,
    async sendHostile(method, path, body, headers = {}) {
      const own = { 'x-forwarded-for': hostileAddress, ...(body !== undefined && { 'content-type': 'application/json' }) };
      const answer = await send(system.url, { method, path, headers: { ...own, ...headers }, ...(body !== undefined && { body }) }).catch(
        () => undefined,
      );
      if (answer) answers.check({ method, path, ...answer, contentType: answer.headers['content-type'] });
      return answer?.status ?? 0;
    },
    sendHostileMessage: (text) =>
      world.sendHostile('POST', `/v1/agents/${hostile.agentId}/messages`, JSON.stringify({ message: text }), {
        authorization: `Bearer ${hostile.key}`,
        prefer: 'respond-async',
      }),
    replyToHostile(reply) {
      replyToHostile = reply;
    },
    connectHostileDataSource: (url) => connectDataSource(operators, hostile, url),
    async stop() {
      for (const client of Object.values(operators)) client.close();
      await system.stop();
      await dataSource.drop();
      await model.stop();
    },
  };
  return world;
}

const isSteady = ({ messages }: ChatRequest) => String(messages.findLast(({ role }) => role === 'user')?.content ?? '').includes('Steady');

export const answerAtOnce = (): ModelReply => ({ kind: 'text', text: 'Done.' });

/** The answer of the steady tenant whenever its query ran. */
export const steadyContent = 'There are 12750 pieces.';

/** One query over the tenant's own data, then an answer that repeats its result. */
function answerFromData({ messages }: ChatRequest): ModelReply {
  const result = messages.findLast(({ role }) => role === 'tool');
  if (!result) return { kind: 'tools', calls: [{ name: 'query', arguments: { sql: 'select sum(pieces) as pieces from stock' } }] };
  return { kind: 'text', text: `There are ${/\b\d{3,}\b/.exec(String(result.content))?.[0] ?? 'no'} pieces.` };
}

async function writeSettings(model: ScriptedModel): Promise<Record<string, string>> {
  // Failed authentications stay limited: an address that tries wrong secrets is one of the misbehaviours.
  const { RATE_LIMIT_FAILED_AUTHENTICATIONS_PER_MINUTE: _, ...limits } = withoutRateLimits;
  return {
    ...limits,
    MODELS_FILE: await modelsFileFor(model),
    TRUSTED_PROXIES: '127.0.0.1',
    WEBHOOKS_ENABLED: 'true',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    REPLICAS: 'identity=2 credits=2 agents=2 answer-worker=2',
  };
}

async function makeTenant(system: LocalSystem, { identity, credits }: Operators, name: string): Promise<BlastTenant> {
  const created = await identity.createOrganization({ name });
  const { organizationId, userId, liveApiKey: key } = created;
  await credits.grant({ tenant: { organizationId, environment: 'live' }, grantId: `grant-${name}`, amount: granted });
  const call = async <Data>(method: string, path: string, body: object) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const answer = await send(system.url, { method, path, headers, body: JSON.stringify(body) });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.json<{ data: Data }>().data;
  };
  await call('PUT', `/v1/credits/users/${userId}/allocation`, { monthly_limit: monthlyLimit });
  const agent = await call<{ id: string }>('POST', '/v1/agents', { name, system_prompt: 'Answer.', data_scope: { tables: ['stock'] } });
  await call('PATCH', `/v1/agents/${agent.id}`, { status: 'active' });
  return { organizationId, userId, key, agentId: agent.id };
}

async function connectDataSource({ agents }: Operators, { organizationId }: BlastTenant, url: string): Promise<void> {
  await agents.connectDataSource({ organizationId, environment: 'live', url });
}

/** As many tables as an agent's scope may name, besides the one that the agents ask. */
const furtherTables = 200;

async function makeDataSource(): Promise<{ url: string; drop(): Promise<void> }> {
  const database = await testDatabase();
  const url = new URL(database.url);
  const account = `${url.pathname.slice(1)}_reader`;
  const client = new Database({ connectionString: database.url });
  await client.connect();
  await client.query(`create role ${account} login password 'reader'`);
  await client.query('create table stock as select number as id, number * 10 as pieces from generate_series(1, 50) number');
  await client.query(
    `do $$ begin for i in 0..${furtherTables - 1} loop execute format('create table table_%s (id int)', i); end loop; end $$`,
  );
  await client.query(`grant select on all tables in schema public to ${account}`);
  await client.end();
  [url.username, url.password] = [account, 'reader'];
  return { url: url.href, drop: database.drop };
}
