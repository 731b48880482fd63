import { ServiceError } from '@agent-service/contracts';
import { testRedis } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { agent, usualAgents } from './support/agents-peer.ts';
import { expectError } from './support/envelope.ts';
import { admit, apiKey, caller, type Gateway, startGateway } from './support/gateway.ts';
import { ask } from './support/http.ts';
import { type Peer, startPeer } from './support/peer.ts';

const token = apiKey('g');

let peer: Peer;
let gateway: Gateway;
beforeAll(async () => {
  peer = await startPeer();
  admit(peer, { [token]: caller('g') });
  gateway = await startGateway(peer, (await testRedis()).url, { RATE_LIMIT_WRITES_PER_MINUTE: '1000' });
});
afterAll(async () => {
  await gateway.stop();
  await peer.stop();
});
afterEach(() => void Object.assign(peer.agents, usualAgents()));

const call = (method: string, path: string, json?: unknown, headers: Record<string, string> = {}) =>
  ask(gateway.url, path, { method, token, headers, ...(json !== undefined && { json }) });

const required = { name: 'Sales', system_prompt: 'Answer.', data_scope: { tables: ['orders(id, total)'] } };

describe('POST /v1/agents', () => {
  test('returns the documented fields, and sends defaults for omitted fields to agents', async () => {
    const received: unknown[] = [];
    peer.agents.createAgent = (request) => {
      received.push(request);
      return usualAgents().createAgent(request, undefined as never);
    };
    const { status, body } = await call('POST', '/v1/agents', required);
    expect([status, body]).toEqual([201, { data: { id: 'agt_1', name: 'Sales', status: 'draft', created_at: agent.createdAt } }]);
    expect(received).toEqual([
      {
        name: 'Sales',
        sourceTemplateId: '',
        systemPrompt: 'Answer.',
        dataScope: { tables: ['orders(id, total)'], readOnly: true },
        description: '',
        category: '',
        model: 'Fast',
        welcomeMessage: '',
        suggestedPrompts: [],
        outputPreferences: { defaultFormat: 'markdown', chartEnabled: false },
      },
    ]);
  });

  const long = (length: number) => '\u{1F600}'.repeat(length);
  test.each([
    ['the longest name, by code points', { name: long(100) }],
    ['the longest prompt', { system_prompt: long(32_000) }],
    ['the longest texts', { description: long(2_000), category: long(2_000), welcome_message: long(2_000) }],
    ['five prompts', { suggested_prompts: Array(5).fill('?') }],
    ['200 tables', { data_scope: { tables: Array(200).fill('orders') } }],
    ['no data', { data_scope: {} }],
    ['writing', { data_scope: { tables: [], read_only: false } }],
    ['one preference', { output_preferences: { chart_enabled: true } }],
  ])('takes %s', async (_what, more) => expect((await call('POST', '/v1/agents', { ...required, ...more })).status).toBe(201));

  test.each([
    ['name', { name: '' }],
    ['name', { name: long(101) }],
    ['name', { name: null }],
    ['name', { name: 7 }],
    ['name', { name: 'a\0b' }],
    ['name', { name: 'a\ud800' }],
    ['system_prompt', { system_prompt: '' }],
    ['system_prompt', { system_prompt: long(32_001) }],
    ['description', { description: long(2_001) }],
    ['category', { category: long(2_001) }],
    ['welcome_message', { welcome_message: long(2_001) }],
    ['model', { model: 'Slow' }],
    ['suggested_prompts', { suggested_prompts: Array(6).fill('?') }],
    ['suggested_prompts[1]', { suggested_prompts: ['?', long(2_001)] }],
    ['data_scope', { data_scope: [] }],
    ['data_scope.tables', { data_scope: { tables: 'orders' } }],
    ['data_scope.tables', { data_scope: { tables: Array(201).fill('orders') } }],
    ['data_scope.tables[1]', { data_scope: { tables: ['orders', 'orders('] } }],
    ['data_scope.tables[0]', { data_scope: { tables: ['orders; drop table orders'] } }],
    ['data_scope.read_only', { data_scope: { read_only: 'yes' } }],
    ['data_scope.rows', { data_scope: { tables: [], rows: 5 } }],
    ['output_preferences.default_format', { output_preferences: { default_format: 'html' } }],
    ['output_preferences.theme', { output_preferences: { theme: 'dark' } }],
    ['status', { status: 'active' }],
    ['id', { id: 'agt_mine' }],
  ])('refuses a bad %s: %#', async (param, more) => {
    const answer = await call('POST', '/v1/agents', { ...required, ...more });
    expectError(answer, 400, 'invalid_request');
    expect(answer.body.error.param).toBe(param);
  });

  test.each(['name', 'system_prompt', 'data_scope'])('refuses a body without %s', async (param) => {
    const answer = await call('POST', '/v1/agents', { ...required, [param]: undefined });
    expectError(answer, 400, 'invalid_request');
    expect(answer.body.error.param).toBe(param);
  });
});

describe('GET /v1/agents/{agent_id}', () => {
  test('returns the documented fields, the template and the ETag', async () => {
    const { status, body, headers } = await call('GET', '/v1/agents/agt_9');
    expect([status, headers.get('etag')]).toEqual([200, '"3"']);
    expect(body).toEqual({
      data: {
        id: 'agt_9',
        name: 'Sales',
        description: '',
        category: '',
        status: 'active',
        model: 'Fast',
        created_at: agent.createdAt,
        updated_at: agent.updatedAt,
        system_prompt: 'Answer.',
        data_scope: { tables: ['orders(id, total)'], read_only: true },
        output_preferences: { default_format: 'markdown', chart_enabled: false },
        welcome_message: '',
        suggested_prompts: [],
        created_by: 'usr_1',
        source_template_id: null,
      },
    });
  });

  test('HEAD returns the same headers and no body', async () => {
    const { status, text, headers } = await call('HEAD', '/v1/agents/agt_9');
    expect([status, text, headers.get('etag')]).toEqual([200, '', '"3"']);
    expect(Number(headers.get('content-length'))).toBeGreaterThan(100);
  });

  test.each(['"3"', 'W/"3"', '"1", "3"', '*'])('If-None-Match: %s is a 304 without a body', async (tag) => {
    const { status, text, headers } = await call('GET', '/v1/agents/agt_9', undefined, { 'if-none-match': tag });
    expect([status, text, headers.get('etag'), headers.get('content-type')]).toEqual([304, '', '"3"', null]);
  });

  test('If-None-Match with a different tag is a 200, without a valid tag a 400', async () => {
    expect((await call('GET', '/v1/agents/agt_9', undefined, { 'if-none-match': '"2"' })).status).toBe(200);
    const bad = await call('GET', '/v1/agents/agt_9', undefined, { 'if-none-match': '3' });
    expectError(bad, 400, 'invalid_request');
    expect(bad.body.error.param).toBe('If-None-Match');
  });

  test('names the template of an agent that was created from a template', async () => {
    peer.agents.getAgent = async () => ({ agent: { ...agent, sourceTemplateId: 'tpl_1' } });
    expect((await call('GET', '/v1/agents/agt_9')).body.data.source_template_id).toBe('tpl_1');
  });
});

describe('PATCH /v1/agents/{agent_id}', () => {
  async function patched(json: object, headers: Record<string, string> = {}): Promise<Record<string, unknown>> {
    const received: Record<string, unknown>[] = [];
    peer.agents.updateAgent = (request) => {
      // A field that a proto marks as optional has its value under a second name.
      received.push(Object.fromEntries(Object.entries(request).filter(([name, value]) => !name.startsWith('_') && value !== null)));
      return usualAgents().updateAgent(request, undefined as never);
    };
    expect((await call('PATCH', '/v1/agents/agt_9', json, headers)).status).toBe(200);
    return received[0] ?? {};
  }

  test('returns the documented fields and the new ETag', async () => {
    const { body, headers } = await call('PATCH', '/v1/agents/agt_9', { status: 'active' });
    expect(body).toEqual({ data: { id: 'agt_9', name: 'Sales', status: 'active', model: 'Fast', updated_at: agent.updatedAt } });
    expect(headers.get('etag')).toBe('"4"');
  });

  test('changes the fields of the body only', async () => {
    const nothing = { agentId: 'agt_9', ifVersions: [] };
    expect(await patched({})).toEqual(nothing);
    expect(await patched({ name: 'New', status: 'inactive' })).toEqual({ ...nothing, name: 'New', status: 'inactive' });
    expect(await patched({ data_scope: { read_only: false } })).toEqual({
      ...nothing,
      dataScope: { tables: null, readOnly: false },
    });
    expect(await patched({ data_scope: { tables: [] } })).toEqual({ ...nothing, dataScope: { tables: { values: [] } } });
    expect(await patched({ suggested_prompts: ['a'] })).toEqual({ ...nothing, suggestedPrompts: { values: ['a'] } });
    expect(await patched({ output_preferences: { default_format: 'json' } })).toMatchObject({
      outputPreferences: { defaultFormat: 'json' },
    });
  });

  test('null resets every optional field to its default', async () => {
    const optional = { description: null, category: null, model: null, welcome_message: null, suggested_prompts: null };
    expect(await patched({ ...optional, output_preferences: null, data_scope: { tables: null, read_only: null } })).toMatchObject({
      description: '',
      category: '',
      model: 'Fast',
      welcomeMessage: '',
      suggestedPrompts: { values: [] },
      outputPreferences: { defaultFormat: 'markdown', chartEnabled: false },
      dataScope: { tables: { values: [] }, readOnly: true },
    });
    expect(await patched({ output_preferences: { chart_enabled: null } })).toMatchObject({ outputPreferences: { chartEnabled: false } });
  });

  test.each(['name', 'system_prompt', 'data_scope', 'status'])('null for %s is refused', async (param) => {
    const answer = await call('PATCH', '/v1/agents/agt_9', { [param]: null });
    expectError(answer, 400, 'invalid_request');
    expect(answer.body.error.param).toBe(param);
  });

  test.each([
    [{ name: '' }, 'name'],
    [{ status: 'deleted' }, 'status'],
    [{ data_scope: { tables: [''] } }, 'data_scope.tables[0]'],
    [{ created_by: 'me' }, 'created_by'],
  ])('%j is refused', async (json, param) => {
    const answer = await call('PATCH', '/v1/agents/agt_9', json);
    expectError(answer, 400, 'invalid_request');
    expect(answer.body.error.param).toBe(param);
  });

  test.each([
    ['"3"', [3]],
    ['"3", "4"', [3, 4]],
    ['*', []],
    // Tags that match no version must not become a change without a condition.
    ['W/"3"', [0]],
    ['"other"', [0]],
  ])('If-Match: %s asks agents for the versions %j', async (tag, versions) => {
    expect((await patched({ name: 'New' }, { 'if-match': tag }))['ifVersions']).toEqual(versions);
  });

  test('a malformed If-Match is a 400, and a stale one a 412', async () => {
    const bad = await call('PATCH', '/v1/agents/agt_9', {}, { 'if-match': '3' });
    expectError(bad, 400, 'invalid_request');
    expect(bad.body.error.param).toBe('If-Match');
    peer.agents.updateAgent = () => Promise.reject(new ServiceError('precondition_failed'));
    expectError(await call('PATCH', '/v1/agents/agt_9', {}, { 'if-match': '"1"' }), 412, 'precondition_failed');
  });

  test('a transition that the status does not allow is a 409', async () => {
    peer.agents.updateAgent = () => Promise.reject(new ServiceError('invalid_status_transition'));
    expectError(await call('PATCH', '/v1/agents/agt_9', { status: 'draft' }), 409, 'invalid_status_transition');
  });
});

describe('lists', () => {
  test('of agents pass their filters to the service', async () => {
    const received: object[] = [];
    peer.agents.listAgents = async (request) => {
      received.push(request);
      return { agents: [agent], page: { total: 41, nextCursor: 'next' } };
    };
    const { body } = await call('GET', '/v1/agents?limit=100&category=&status=draft&search=50%25&cursor=c');
    expect(received[0]).toMatchObject({ page: { limit: 100, cursor: 'c' }, category: '', status: 'draft', search: '50%' });
    expect(body.meta).toEqual({ total: 41, next_cursor: 'next', request_id: expect.any(String) });
    expect(Object.keys(body.data[0])).toEqual(['id', 'name', 'description', 'category', 'status', 'model', 'created_at', 'updated_at']);
    await call('GET', '/v1/agents');
    expect(received[1]).toMatchObject({ page: { limit: 20, cursor: '' }, status: '', search: '' });
    expect(received[1]).not.toHaveProperty('category');
  });

  test('of conversations have the documented fields', async () => {
    const { body } = await call('GET', '/v1/agents/agt_1/conversations');
    expect(body).toEqual({
      data: [
        {
          id: 'conv_1',
          agent_id: 'agt_1',
          message_count: 2,
          total_credits: 2,
          created_at: agent.createdAt,
          last_message_at: agent.createdAt,
        },
      ],
      meta: { total: 1, next_cursor: null, request_id: expect.any(String) },
    });
  });

  test('of messages have questions and answers, with their status', async () => {
    const { body } = await call('GET', '/v1/agents/agt_1/conversations/conv_1/messages');
    expect(body.data.map(({ role, content_type, status }: Record<string, string>) => [role, content_type, status])).toEqual([
      ['assistant', 'markdown', 'completed'],
      ['user', 'text', 'completed'],
    ]);
  });

  test.each([
    ['/v1/agents?limit=101', 'limit'],
    ['/v1/agents?limit=0', 'limit'],
    ['/v1/agents?limit=', 'limit'],
    ['/v1/agents?limit=1.5', 'limit'],
    ['/v1/agents?status=deleted', 'status'],
    ['/v1/agents?model=Fast', 'model'],
    ['/v1/agents?search=%00', 'search'],
    ['/v1/agents/agt_1/conversations?limit=101', 'limit'],
    ['/v1/agents/agt_1/conversations/conv_1/messages?limit=101', 'limit'],
    ['/v1/agents/agt_1/messages/msg_1?x=1', 'x'],
  ])('%s is refused', async (path, param) => {
    const answer = await call('GET', path);
    expectError(answer, 400, 'invalid_request');
    expect(answer.body.error.param).toBe(param);
  });

  test.each(['/v1/agents', '/v1/agents/agt_1/conversations', '/v1/agents/agt_1/conversations/conv_1/messages'])(
    '%s with an empty cursor or the cursor of a different list is refused',
    async (path) => {
      expectError(await call('GET', `${path}?cursor=`), 400, 'invalid_cursor');
      const refuse = () => Promise.reject(new ServiceError('invalid_cursor', { param: 'cursor' }));
      Object.assign(peer.agents, { listAgents: refuse, listConversations: refuse, listMessages: refuse });
      expectError(await call('GET', `${path}?cursor=theirs`), 400, 'invalid_cursor');
    },
  );
});

describe('one message', () => {
  test('has the documented fields and its status, and its queries if there are any', async () => {
    const plain = (await call('GET', '/v1/agents/agt_1/messages/msg_7')).body.data;
    expect(plain).toEqual({
      id: 'msg_7',
      conversation_id: 'conv_1',
      role: 'assistant',
      content: 'You sold 120 orders.',
      content_type: 'markdown',
      credits_consumed: 2,
      model_used: 'Fast',
      created_at: agent.createdAt,
      status: 'completed',
    });
    const query = { statement: 'select 1', tables: ['orders'], rows: 1, durationMs: 12 };
    const usual = peer.agents.getMessage;
    peer.agents.getMessage = async (request, requests) => {
      const { message } = await usual(request, requests);
      return { message: { ...message, queries: [query] } };
    };
    const { queries } = (await call('GET', '/v1/agents/agt_1/messages/msg_7')).body.data;
    expect(queries).toEqual([{ statement: 'select 1', tables: ['orders'], rows: 1, duration_ms: 12 }]);
  });

  test('is returned with its new status after it was cancelled', async () => {
    const { status, body } = await call('POST', '/v1/agents/agt_1/messages/msg_7/cancel');
    expect([status, body.data.id, body.data.status, body.data.credits_consumed]).toEqual([200, 'msg_7', 'cancelled', 0]);
  });
});

test('DELETE answers 204 without a body', async () => {
  const { status, text } = await call('DELETE', '/v1/agents/agt_1');
  expect([status, text]).toEqual([204, '']);
});

test('If-Match of a DELETE asks agents for the version, and a stale one is a 412', async () => {
  const received: unknown[] = [];
  peer.agents.deleteAgent = (request) => {
    received.push(request);
    return Promise.reject(new ServiceError('precondition_failed'));
  };
  expectError(await call('DELETE', '/v1/agents/agt_1', undefined, { 'if-match': '"3"' }), 412, 'precondition_failed');
  expect(received).toEqual([{ agentId: 'agt_1', ifVersions: [3] }]);
});

test.each(['', null])('the title %j removes the title of a conversation', async (title) => {
  const { status, body } = await call('PATCH', '/v1/agents/agt_1/conversations/conv_1', { title });
  expect([status, body.data.title]).toEqual([200, '']);
});
