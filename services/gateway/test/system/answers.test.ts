import { randomUUID } from 'node:crypto';
import type { ReceivedResponse } from '@agent-service/testkit';
import { until } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { stream } from '../support/sse.ts';
import { makeAgent, shareWorld, type World } from './world.ts';

let world: World;
let agentId: string;
let key: string;
beforeAll(async () => {
  world = await shareWorld();
  key = world.ours.keys.live;
  agentId = await makeAgent(world.call, key);
});
afterAll(() => world?.stop());

const json = { 'content-type': 'application/json' };
const post = (path: string, body: object = {}, headers: Record<string, string> = {}, gateway?: string): Promise<ReceivedResponse> =>
  world.call(key, { method: 'POST', path, headers: { ...json, ...headers }, body: JSON.stringify(body) }, gateway);
const send = (body: object = { message: 'How much?' }, headers: Record<string, string> = {}, gateway?: string) =>
  post(`/v1/agents/${agentId}/messages`, body, headers, gateway);
const get = (path: string, headers: Record<string, string> = {}) => world.call(key, { method: 'GET', path, headers });

interface Message {
  id: string;
  conversation_id: string;
  role: string;
  status: string;
  content: string;
  content_type: string;
  credits_consumed: number;
}
const messageIn = (answer: ReceivedResponse): Message => answer.json<{ data: Message }>().data;
const codeIn = (answer: ReceivedResponse): string => answer.json<{ error: { code: string } }>().error.code;

describe('a message through the whole system', () => {
  test('is answered, and can be read with the rest of its conversation; a refusal of the built-in model costs nothing', async () => {
    const first = await send();
    expect(first.status).toBe(200);
    const { id, conversation_id, credits_consumed } = messageIn(first);
    expect(credits_consumed).toBe(0);
    const second = messageIn(await send({ message: 'And before?', conversation_id }));
    expect(second.conversation_id).toBe(conversation_id);
    const read = (await get(`/v1/agents/${agentId}/messages/${id}`)).json<{ data: object }>().data;
    const usage = {
      model: 'built-in',
      input_tokens: expect.any(Number),
      output_tokens: expect.any(Number),
      latency_ms: expect.any(Number),
    };
    expect(read).toEqual({ ...messageIn(first), usage, result: null, steps: [] });
    const listed = (await get(`/v1/agents/${agentId}/conversations/${conversation_id}/messages`)).json<{ data: Message[]; meta: object }>();
    expect(listed.data.map(({ role }) => role)).toEqual(['assistant', 'user', 'assistant', 'user']);
    expect(listed.data.map((one) => one.id).filter((one) => [id, second.id].includes(one))).toEqual([second.id, id]);
    expect(listed.data[0]).toEqual({ ...second, usage, result: null });
    expect(listed.meta).toMatchObject({ total: 4, next_cursor: null });
    const conversations = (await get(`/v1/agents/${agentId}/conversations`)).json<{ data: Record<string, unknown>[] }>().data;
    expect(conversations.find((one) => one['id'] === conversation_id)).toMatchObject({
      agent_id: agentId,
      message_count: 4,
      total_credits: credits_consumed + second.credits_consumed,
    });
  });

  test('in plain text is delivered, streamed and read as text, also after the format of the agent has changed', async () => {
    const plain = await makeAgent(world.call, key);
    const path = `/v1/agents/${plain}`;
    const set = (default_format: string) =>
      world.call(key, { method: 'PATCH', path, headers: json, body: JSON.stringify({ output_preferences: { default_format } }) });
    await set('text');
    const answer = messageIn(await post(`${path}/messages`, { message: 'How much?' }));
    const reader = await stream(`${world.gateways[0]}${path}/messages`, key, { message: 'How much?' });
    await reader.ended;
    const streamed = reader.events.at(-1)?.data as unknown as Message;
    await set('markdown');
    const later = messageIn(await post(`${path}/messages`, { message: 'How much?' }));
    const read = async ({ id }: Message) => messageIn(await get(`${path}/messages/${id}`)).content_type;
    expect([answer.content_type, streamed.content_type, later.content_type]).toEqual(['text', 'text', 'markdown']);
    expect([await read(answer), await read(streamed), await read(later)]).toEqual(['text', 'text', 'markdown']);
  });

  test('that is not waited for can be read at its Location', async () => {
    const answer = await send(undefined, { prefer: 'respond-async' });
    expect([answer.status, messageIn(answer).status]).toEqual([202, 'queued']);
    const location = String(answer.headers['location']);
    await until(async () => messageIn(await get(location)).status === 'completed');
    expect(messageIn(await get(location)).id).toBe(messageIn(answer).id);
  });

  test('streams its answer, whose text is that of the whole message', async () => {
    const reader = await stream(`${world.gateways[1]}/v1/agents/${agentId}/messages`, key, { message: 'How much?' });
    await reader.ended;
    const [started] = reader.events;
    const completed = reader.events.at(-1);
    expect([started?.event, completed?.event]).toEqual(['started', 'completed']);
    expect(completed?.data).toMatchObject({ id: started?.data.message_id, status: 'completed', usage: expect.any(Object) });
    const text = reader.events.flatMap(({ event, data }) => (event === 'delta' ? [data.text] : [])).join('');
    expect(completed?.data.content.startsWith(text)).toBe(true);
    expect(messageIn(await get(`/v1/agents/${agentId}/messages/${started?.data.message_id}`))).toMatchObject({ ...completed?.data });
  });

  test('that is sent ten times at the same time under one key through two gateways has one answer and one charge', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const balance = async () => (await get('/v1/credits/balance')).json<{ data: { balance: number } }>().data.balance;
    const before = await balance();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => send({ message: 'Once?' }, headers, world.gateways[index % world.gateways.length])),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map((answer) => messageIn(answer).id)).size).toBe(1);
    const again = await send({ message: 'Once?' }, headers);
    expect([again.status, again.headers['idempotent-replayed']]).toEqual([200, 'true']);
    expect(messageIn(again)).toEqual(messageIn(answers[0] as ReceivedResponse));
    expect(before - (await balance())).toBe(messageIn(again).credits_consumed);
    const other = await send({ message: 'Other?' }, headers);
    expect([other.status, codeIn(other)]).toEqual([422, 'idempotency_key_reused']);
  });

  test('that has its answer cannot be cancelled', async () => {
    const { id } = messageIn(await send());
    const answer = await post(`/v1/agents/${agentId}/messages/${id}/cancel`);
    expect([answer.status, messageIn(answer).status]).toEqual([200, 'completed']);
    const headers = { 'idempotency-key': randomUUID() };
    const [first, again] = [
      await post(`/v1/agents/${agentId}/messages/${id}/cancel`, {}, headers),
      await post(`/v1/agents/${agentId}/messages/${id}/cancel`, {}, headers),
    ];
    expect([first.headers['idempotent-replayed'], again.headers['idempotent-replayed']]).toEqual([undefined, 'true']);
    expect(again.json<{ data: Message }>().data).toEqual(first.json<{ data: Message }>().data);
  });

  test('is refused for an agent that is not active or does not exist', async () => {
    const draft = (
      await world.call(key, {
        method: 'POST',
        path: '/v1/agents',
        headers: json,
        body: JSON.stringify({ name: 'Draft', system_prompt: 'Answer.', data_scope: { tables: [] } }),
      })
    ).json<{ data: { id: string } }>().data.id;
    const refused = await post(`/v1/agents/${draft}/messages`, { message: 'Hello' });
    expect([refused.status, codeIn(refused)]).toEqual([409, 'agent_not_active']);
    const elsewhere = await send({ message: 'Hello', conversation_id: 'conv_none' });
    expect([elsewhere.status, codeIn(elsewhere)]).toEqual([404, 'not_found']);
  });
});

test('of two changes under the same ETag one succeeds', async () => {
  const path = `/v1/agents/${await makeAgent(world.call, key)}`;
  const etag = String((await get(path)).headers['etag']);
  const change = (description: string) =>
    world.call(key, { method: 'PATCH', path, headers: { ...json, 'if-match': etag }, body: JSON.stringify({ description }) });
  const answers = await Promise.all(['one', 'two', 'three'].map(change));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412]);
  const winner = answers.find(({ status }) => status === 200);
  expect((await get(path)).headers['etag']).toBe(winner?.headers['etag']);
  expect((await get(path, { 'if-none-match': String(winner?.headers['etag']) })).status).toBe(304);
  expect((await get(path, { 'if-none-match': etag })).status).toBe(200);
});

test('a deleted agent is removed with its conversations and messages', async () => {
  const deletedId = await makeAgent(world.call, key);
  const { id, conversation_id } = messageIn(await post(`/v1/agents/${deletedId}/messages`, { message: 'Hello' }));
  expect((await world.call(key, { method: 'DELETE', path: `/v1/agents/${deletedId}` })).status).toBe(204);
  const paths = ['', '/conversations', `/messages/${id}`, `/conversations/${conversation_id}/messages`];
  for (const path of paths) expect([path, (await get(`/v1/agents/${deletedId}${path}`)).status]).toEqual([path, 404]);
  expect((await post(`/v1/agents/${deletedId}/messages`, { message: 'Hello' })).status).toBe(404);
});
