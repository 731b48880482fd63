import type { ReceivedResponse } from '@agent-service/testkit';
import { until } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { everyRoute } from '../../src/routes/index.ts';
import { stream } from '../support/sse.ts';
import { makeIds, title, validRequest } from './requests.ts';
import { makeAgent, shareWorld, type World } from './world.ts';

let world: World;
let agentId: string;
beforeAll(async () => {
  world = await shareWorld();
  agentId = await makeAgent(world.call, world.ours.keys.live);
});
afterAll(() => world?.stop());

const json = { 'content-type': 'application/json' };
const post = (token: string, path: string, body: object = {}, headers: Record<string, string> = {}, gateway?: string) =>
  world.call(token, { method: 'POST', path, headers: { ...json, ...headers }, body: JSON.stringify(body) }, gateway);
const issue = (parent: string, body: object = {}, agent = agentId) => post(parent, `/v1/agents/${agent}/tokens`, body);
const chat = (token: string, agent = agentId, body: object = { message: 'How much?' }, headers = {}) =>
  post(token, `/v1/agents/${agent}/messages`, body, headers);
const codeOf = (answer: ReceivedResponse) => [answer.status, answer.json<{ error?: { code: string } }>().error?.code];

interface Issued {
  access_token: string;
  expires_in: number;
  expires_at: string;
  agent_id: string;
}
async function tokenOf(parent: string, body: object = {}): Promise<string> {
  const answer = await issue(parent, body);
  expect(answer.status).toBe(201);
  return answer.json<{ data: Issued }>().data.access_token;
}

test('an end user talks to the agent with it, waiting or as a stream, and continues the conversation', async () => {
  const answer = await issue(world.ours.keys.live, { expires_in: 120 });
  expect(answer.json()).toEqual({
    data: { access_token: expect.any(String), token_type: 'Bearer', expires_in: 120, expires_at: expect.any(String), agent_id: agentId },
  });
  const { access_token: token } = answer.json<{ data: Issued }>().data;
  const first = await chat(token);
  expect(first.status).toBe(200);
  const { conversation_id } = first.json<{ data: { conversation_id: string } }>().data;
  const reader = await stream(`${world.gateways[0]}/v1/agents/${agentId}/messages`, token, { message: 'And before?', conversation_id });
  await reader.ended;
  expect(reader.events.at(-1)?.event).toBe('completed');
  // Its own rights would not let it read the message.
  expect(reader.events.at(-1)?.data).toHaveProperty('usage.latency_ms');
});

describe('is refused', () => {
  test('for another agent, whether it exists or not', async () => {
    const token = await tokenOf(world.ours.keys.live);
    const other = await makeAgent(world.call, world.ours.keys.live);
    for (const agent of [other, 'agt_none', `${agentId}x`]) expect(codeOf(await chat(token, agent))).toEqual([403, 'wrong_audience']);
    const asynchronous = await chat(token, other, { message: 'Hi' }, { prefer: 'respond-async' });
    expect(codeOf(asynchronous)).toEqual([403, 'wrong_audience']);
  });

  test('for every other operation, even on its own agent', async () => {
    const token = await tokenOf(world.ours.keys.live);
    const allowed = ['sendMessage', 'streamMessage', 'cancelAnswer'];
    const routes = everyRoute.filter(({ auth, operationId }) => auth === 'token' && !allowed.includes(operationId));
    expect(routes.length).toBeGreaterThan(40);
    for (const route of routes) {
      const ids = { ...(await makeIds(world, world.ours, route)), agent_id: agentId };
      const [status, code] = codeOf(await world.call(token, validRequest(route, ids)));
      expect([title(route), status, code]).toEqual([
        title(route),
        403,
        expect.stringMatching(/^(insufficient_scope|wrong_audience|admin_required)$/),
      ]);
    }
    expect(codeOf(await issue(token))).toEqual([403, 'wrong_audience']);
  });

  test('when it has expired', async () => {
    const token = await tokenOf(world.ours.keys.live, { expires_in: 1 });
    await until(async () => (await chat(token)).status === 401);
    expect(codeOf(await chat(token))).toEqual([401, 'token_expired']);
  });

  test('when the key that it was made with, or whose token it was made with, is revoked', async () => {
    const parent = await world.makeKey(world.ours, 'live', { scopes: ['agents:chat'] });
    const parentToken = (await post(parent.key, '/v1/auth/token', { api_key: parent.key })).json<{ data: Issued }>().data.access_token;
    const tokens = [await tokenOf(parent.key), await tokenOf(parentToken)];
    for (const token of tokens) expect((await chat(token)).status).toBe(200);
    const [ofKey, ofToken] = tokens.map((token) => Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    expect([ofKey, ofToken]).toEqual([
      expect.not.stringContaining('parent_kid'),
      expect.stringMatching(/"parent_iat":\d+,"parent_kid":"\w+"/),
    ]);
    const revoked = await world.call(world.ours.keys.live, { method: 'DELETE', path: `/v1/auth/keys/${parent.id}` });
    expect(revoked.status).toBe(204);
    for (const token of tokens) expect(codeOf(await chat(token))).toEqual([401, 'token_revoked']);
  });

  test('to those who may not chat, of another tenant, or with another lifetime', async () => {
    const reader = await world.makeKey(world.ours, 'live', { scopes: ['agents:read'] });
    expect(codeOf(await issue(reader.key))).toEqual([403, 'insufficient_scope']);
    for (const stranger of [world.theirs.keys.live, world.ours.keys.test])
      expect(codeOf(await issue(stranger))).toEqual([404, 'not_found']);
    for (const expires_in of [0, -1, 1.5, 3_601, '60', null]) {
      const refusal = await issue(world.ours.keys.live, { expires_in });
      expect([expires_in, ...codeOf(refusal)]).toEqual([expires_in, 400, 'invalid_request']);
      expect(refusal.json<{ error: { param: string } }>().error.param).toBe('expires_in');
    }
  });

  test('with a longer life than the token that it is made with', async () => {
    const { apiKey } = await world.operator.createKey({
      organizationId: world.ours.id,
      userId: world.ours.adminId,
      environment: 'live',
      tokenTtlSeconds: 300,
    });
    const parent = (await post(apiKey, '/v1/auth/token', { api_key: apiKey })).json<{ data: Issued }>().data.access_token;
    const refusal = await issue(parent, { expires_in: 301 });
    expect([...codeOf(refusal), refusal.json<{ error: { param: string } }>().error.param]).toEqual([400, 'invalid_request', 'expires_in']);
    const { expires_in } = (await issue(parent)).json<{ data: Issued }>().data;
    expect(expires_in).toBeLessThanOrEqual(300);
  });
});

test('a conversation goes on with another token of its user, and with no token of a different user', async () => {
  const { user } = await world.inOrganization(world.ours, () =>
    world.operator.createUser({ name: 'Another', email: 'another.end.user@ours.example', role: 'member' }),
  );
  const { apiKey } = await world.operator.createKey({ organizationId: world.ours.id, userId: user?.id ?? '', environment: 'live' });
  const [one, next, stranger] = [await tokenOf(world.ours.keys.live), await tokenOf(world.ours.keys.live), await tokenOf(apiKey)];
  const { conversation_id } = (await chat(one)).json<{ data: { conversation_id: string } }>().data;
  const continued = await chat(next, agentId, { message: 'And before?', conversation_id });
  expect([continued.status, continued.json<{ data: object }>().data]).toEqual([200, expect.objectContaining({ conversation_id })]);
  expect(codeOf(await chat(stranger, agentId, { message: 'And before?', conversation_id }))).toEqual([404, 'not_found']);
});

test('an Idempotency-Key of one end user names no answer of another', async () => {
  const [one, other] = [await tokenOf(world.ours.keys.live), await tokenOf(world.ours.keys.live)];
  const idOf = (answer: ReceivedResponse) => answer.json<{ data: { id: string } }>().data.id;
  const send = async (token: string) => idOf(await chat(token, agentId, undefined, { 'idempotency-key': 'same' }));
  const first = await send(one);
  expect(await send(one)).toBe(first);
  expect(await send(other)).not.toBe(first);
});
