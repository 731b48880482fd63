import { createHmac, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient, type EventType, eventTypes, operatorService } from '@agent-service/contracts';
import { eventDescriptions } from '@agent-service/contracts/event-types';
import type { LocalSystem } from '@agent-service/local/system/system';
import {
  modelsFileFor,
  type ReceivedRequest,
  type Receiver,
  receiver,
  type ScriptedModel,
  scriptedModel,
  send,
  testFolder,
  testSystem,
  until,
} from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client as Database } from 'pg';
import { Webhook } from 'standardwebhooks';

interface Organization {
  id: string;
  adminId: string;
  keys: { live: string; test: string };
}

const limitMs = 120_000;

async function makeOrganization(system: LocalSystem): Promise<Organization> {
  const config = { SERVICE_SECRET: [system.secrets.SERVICE_SECRET] };
  const identity = createClient('identity', { address: system.endpoints['identity'] ?? '', as: operatorService, config });
  const organization = await identity.createOrganization({ name: 'Acme' });
  identity.close();
  const { organizationId: id, userId: adminId, liveApiKey: live, testApiKey: test } = organization;
  return { id, adminId, keys: { live, test } };
}

/** One request that must succeed; what its answer holds. */
async function ask<Data>(system: LocalSystem, key: string, method: string, path: string, body?: object): Promise<Data> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const answer = await send(system.url, { method, path, headers, ...(body && { body: JSON.stringify(body) }) });
  if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
  return answer.text === '' ? (undefined as Data) : answer.json<{ data: Data }>().data;
}

interface Happened {
  agentId: string;
  messageId: string;
  userId: string;
  creditsConsumed: number;
}

const granted = 20;
/** The first answer that is paid for crosses it. */
const threshold = granted;

/** All that events tell of, in the live environment of an organization, by the ways that callers and operators have. */
async function causeEveryEvent(system: LocalSystem, organization: Organization): Promise<Happened> {
  const { id, adminId, keys } = organization;
  const call = <Data>(method: string, path: string, body?: object) => ask<Data>(system, keys.live, method, path, body);
  const config = { SERVICE_SECRET: [system.secrets.SERVICE_SECRET] };
  const credits = (as: string) => createClient('credits', { address: system.endpoints['credits'] ?? '', as, config });
  const [operator, agents] = [credits(operatorService), credits('agents')];
  const tenant = { organizationId: id, environment: 'live' };
  await operator.grant({ tenant, grantId: `grant_${randomUUID()}`, amount: granted });
  await call('PATCH', '/v1/credits/settings', { low_balance_threshold: threshold });
  const agent = await call<{ id: string }>('POST', '/v1/agents', { name: 'Told', system_prompt: 'Answer.', data_scope: { tables: [] } });
  await call('PATCH', `/v1/agents/${agent.id}`, { status: 'active' });
  const message = await call<{ id: string; credits_consumed: number }>('POST', `/v1/agents/${agent.id}/messages`, { message: 'How much?' });
  const rest = granted - message.credits_consumed;
  const holdId = `msg_${randomUUID()}`;
  await agents.hold({ items: [{ tenant, holdId, userId: adminId, amount: rest, deadlineMs: Date.now() + 60_000 }] });
  const usage = { agentId: agent.id, agentName: 'Told', conversationId: 'conv_1', tier: 'Fast', querySummary: 'The rest' };
  await agents.settle({ items: [{ tenant, holdId, amount: rest, ...usage }] });
  await call('DELETE', `/v1/agents/${agent.id}`);
  const user = await call<{ id: string }>('POST', '/v1/users', { name: 'Ada', email: `${randomUUID()}@made.example` });
  await call('PATCH', `/v1/users/${user.id}`, { status: 'deactivated' });
  for (const client of [operator, agents]) client.close();
  return { agentId: agent.id, messageId: message.id, userId: user.id, creditsConsumed: message.credits_consumed };
}

async function query<Row extends object>(system: LocalSystem, statement: string): Promise<Row[]> {
  const database = new Database({ connectionString: system.endpoints['postgres'] ?? '' });
  await database.connect();
  try {
    return (await database.query<Row>(statement)).rows;
  } finally {
    await database.end();
  }
}

describe('with webhooks on', () => {
  let target: Receiver;
  let model: ScriptedModel;
  let system: LocalSystem;
  let organization: Organization;
  const secrets: Record<string, string> = {};

  beforeAll(async () => {
    target = await receiver();
    const caFile = join(await testFolder(), 'ca.pem');
    writeFileSync(caFile, target.certificate.cert);
    // The built-in model refuses to answer without data, and then costs nothing.
    model = await scriptedModel(() => ({ kind: 'text', text: 'Much.' }));
    system = await testSystem({
      WEBHOOKS_ENABLED: 'true',
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      WEBHOOK_CA_FILE: caFile,
      MODELS_FILE: await modelsFileFor(model),
    });
    organization = await makeOrganization(system);
    const { keys } = organization;
    const stranger = await makeOrganization(system);
    const listeners = { '/live': keys.live, '/test': keys.test, '/stranger': stranger.keys.live };
    for (const [path, key] of Object.entries(listeners)) {
      const body = { url: `${target.url}${path}`, events: eventTypes };
      secrets[path] = (await ask<{ secret: string }>(system, key, 'POST', '/v1/webhooks', body)).secret;
    }
  }, limitMs);
  afterAll(async () => {
    await system.stop();
    await target.stop();
    await model.stop();
  });

  const sentTo = (path: string) => target.requests.filter((request) => request.path === path);
  const typesAt = (path: string) => sentTo(path).map(({ body }) => (JSON.parse(body) as { type: string }).type);

  /** Verifies a request as a receiver does; returns its event. */
  function verifyEvent({ path, headers, body }: ReceivedRequest): { id: string; type: string; created_at: string; data: unknown } {
    const secret = secrets[path] ?? '';
    expect(headers['x-service-signature']).toBe(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
    expect(headers['content-type']).toBe('application/json');
    const event = new Webhook(secret).verify(body, { ...headers }) as ReturnType<typeof verifyEvent>;
    expect(headers['webhook-id']).toBe(event.id);
    return event;
  }

  test(
    'each of the nine types of events comes, signed, to the webhooks of its tenant',
    async () => {
      const { agentId, messageId, userId, creditsConsumed } = await causeEveryEvent(system, organization);
      await until('all types have come', async () => new Set(typesAt('/live')).size === eventTypes.length);
      await until('the other environment is told of users', async () => typesAt('/test').includes('user.deactivated'));

      const events = sentTo('/live').map(verifyEvent);
      const byType = (type: string) => events.filter((event) => event.type === type).map(({ data }) => data);
      expect(new Set(events.map(({ type }) => type))).toEqual(new Set(eventTypes));
      expect(events.map(({ data }) => (data as { organization_id: string }).organization_id)).toEqual(events.map(() => organization.id));
      const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(events.map(({ created_at }) => created_at)).toEqual(events.map(() => time));
      for (const { type, data } of events) {
        const fields = ['organization_id', ...eventDescriptions[type as EventType].data];
        expect([type, Object.keys(data as object).sort()]).toEqual([type, fields.sort()]);
      }

      const agent = { id: agentId, name: 'Told', status: 'draft', model: 'Fast' };
      expect(byType('agent.created')).toEqual([expect.objectContaining({ agent: expect.objectContaining(agent) })]);
      expect(byType('agent.updated')).toEqual([
        expect.objectContaining({ agent: expect.objectContaining({ ...agent, status: 'active' }), changed_fields: ['status'] }),
      ]);
      expect(byType('agent.deleted')).toEqual([{ organization_id: organization.id, agent_id: agentId, name: 'Told', deleted_at: time }]);
      expect(byType('conversation.completed')).toEqual([
        expect.objectContaining({
          agent_id: agentId,
          message_id: messageId,
          user_id: organization.adminId,
          credits_consumed: creditsConsumed,
        }),
      ]);
      const balance = granted - creditsConsumed;
      expect(byType('credits.low_balance')).toEqual([{ organization_id: organization.id, balance, threshold }]);
      expect(byType('credits.depleted')).toEqual([{ organization_id: organization.id, balance: 0, depleted_at: time }]);
      expect(byType('credits.replenished')).toEqual([
        { organization_id: organization.id, amount: granted, balance: granted, source: 'purchase' },
      ]);
      const registered = [{ organization_id: organization.id, user_id: userId, role: 'member', registered_at: time }];
      const deactivated = [{ organization_id: organization.id, user_id: userId, deactivated_at: time }];
      expect([byType('user.registered'), byType('user.deactivated')]).toEqual([registered, deactivated]);

      // Users belong to the organization: both environments hear of them, and of nothing else that the other environment does.
      const elsewhere = sentTo('/test').map(verifyEvent);
      expect(new Set(elsewhere.map(({ type }) => type))).toEqual(new Set(['user.registered', 'user.deactivated']));
      expect(sentTo('/stranger')).toEqual([]);
    },
    limitMs,
  );

  test('deliveries are listed, and a test event is delivered', async () => {
    const { keys } = organization;
    const webhooks = await ask<{ id: string; url: string }[]>(system, keys.live, 'GET', '/v1/webhooks');
    const path = `/v1/webhooks/${webhooks[0]?.id}`;
    const delivery = await ask<{ id: string; event_id: string }>(system, keys.live, 'POST', `${path}/test`);
    await until('the test event has come', async () => sentTo('/live').some(({ headers }) => headers['webhook-id'] === delivery.event_id));
    const tried = sentTo('/live').find(({ headers }) => headers['webhook-id'] === delivery.event_id) as ReceivedRequest;
    expect(verifyEvent(tried)).toMatchObject({
      type: 'webhook.test',
      data: { organization_id: organization.id, webhook_id: webhooks[0]?.id },
    });
    const listed = () => ask<{ id: string; status: string }[]>(system, keys.live, 'GET', `${path}/deliveries?limit=100`);
    await until('all are delivered', async () => (await listed()).every(({ status }) => status === 'delivered'));
    expect((await listed())[0]?.id).toBe(delivery.id);
    expect(await listed()).toHaveLength(sentTo('/live').length);
  });
});

describe('with webhooks off, which is the default', () => {
  let system: LocalSystem;
  beforeAll(async () => {
    system = await testSystem();
  }, limitMs);
  afterAll(() => system.stop());

  test(
    'no event is recorded after any action, and nothing of webhooks runs or is there',
    async () => {
      const organization = await makeOrganization(system);
      await causeEveryEvent(system, organization);
      // Nothing would carry events on, so one that had been written would still be there.
      for (const service of ['identity', 'credits', 'agents'])
        expect([service, await query(system, `select payload from ${service}.outbox where topic = 'events'`)]).toEqual([service, []]);
      expect(await query(system, "select 1 from pg_tables where schemaname = 'webhooks'")).toEqual([]);
      expect(Object.keys(system.endpoints).filter((name) => name.startsWith('webhook'))).toEqual([]);
      const headers = { authorization: `Bearer ${organization.keys.live}` };
      const answer = await send(system.url, { method: 'GET', path: '/v1/webhooks', headers });
      expect([answer.status, answer.json<{ error: { code: string } }>().error.code]).toEqual([404, 'not_found']);
    },
    limitMs,
  );
});
