import { ServiceError } from '@agent-service/contracts';
import { testRedis } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { expectError } from './support/envelope.ts';
import { admit, apiKey, caller, type Gateway, startGateway } from './support/gateway.ts';
import { ask } from './support/http.ts';
import { type Peer, startPeer } from './support/peer.ts';

const token = apiKey('c');

let peer: Peer;
let gateway: Gateway;
beforeAll(async () => {
  peer = await startPeer();
  admit(peer, { [token]: caller('c') });
  gateway = await startGateway(peer, (await testRedis()).url);
});
afterAll(async () => {
  await gateway.stop();
  await peer.stop();
});

const read = (query: string) => ask(gateway.url, `/v1/credits/usage${query}`, { token });

describe('GET /v1/credits/usage', () => {
  const sums = { total_credits: 3, query_count: 1, breakdown_by_model: { Fast: 3 } };
  test.each([
    ['day', { date: '2026-01-05', ...sums, unique_users: 1 }],
    ['week', { date: '2026-01-05', week: '2026-W02', ...sums, unique_users: 1 }],
    ['month', { date: '2026-01-05', month: '2026-01', ...sums, unique_users: 1 }],
    ['user', { user_id: 'usr_1', ...sums, unique_agents: 1, last_used_at: '2026-01-31T10:00:00.000Z' }],
    ['agent', { agent_id: 'agt_1', name: 'Sales', ...sums, unique_users: 1 }],
  ])('group_by=%s has its own rows, and the totals of the range', async (groupBy, row) => {
    const { status, body } = await read(`?group_by=${groupBy}`);
    expect([status, body.data]).toEqual([200, [row]]);
    expect(body.meta).toEqual({
      total: 1,
      next_cursor: null,
      request_id: expect.any(String),
      total_credits: 3,
      total_queries: 1,
      date_range: { from: '2026-01-01', to: '2026-01-31' },
    });
  });

  test('without group_by the records have exactly the documented fields', async () => {
    const { body } = await read('');
    expect(Object.keys(body.data[0])).toEqual([
      'id',
      'user_id',
      'agent_id',
      'conversation_id',
      'credits_consumed',
      'model',
      'query_summary',
      'timestamp',
    ]);
    expect(body.meta).toEqual({ total: 1, next_cursor: null, request_id: expect.any(String) });
  });

  test.each([
    ['?group_by=hour', 'group_by'],
    ['?limit=201', 'limit'],
    ['?limit=0', 'limit'],
    ['?date_from=yesterday', 'date_from'],
    ['?date_to=2026-02-30', 'date_to'],
    ['?user_id=', 'user_id'],
    ['?department=x', 'department'],
  ])('%s is refused', async (query, param) => {
    const answer = await read(query);
    expectError(answer, 400, 'invalid_request');
    expect(answer.body.error.param).toBe(param);
  });

  test('an empty cursor is no cursor', async () => expectError(await read('?cursor='), 400, 'invalid_cursor'));
});

describe('an unknown user', () => {
  const usual = () => peer.script.getUser;
  const usualHandler = { getUser: undefined as ReturnType<typeof usual> };
  beforeAll(() => {
    usualHandler.getUser = usual();
    peer.script.getUser = () => Promise.reject(new ServiceError('not_found'));
  });
  afterAll(() => {
    if (usualHandler.getUser) peer.script.getUser = usualHandler.getUser;
  });

  test('has no balance', async () => expectError(await ask(gateway.url, '/v1/credits/users/usr_x/balance', { token }), 404, 'not_found'));
  test('cannot get an allocation', async () => {
    const json = { monthly_limit: 5 };
    expectError(await ask(gateway.url, '/v1/credits/users/usr_x/allocation', { method: 'PUT', token, json }), 404, 'not_found');
  });
});

describe('PUT allocation', () => {
  const put = (json: object) => ask(gateway.url, '/v1/credits/users/usr_1/allocation', { method: 'PUT', token, json });

  test('rollover is off by default', async () => {
    const { body } = await put({ monthly_limit: 700 });
    expect(body.data).toMatchObject({ user_id: 'usr_1', monthly_limit: 700, rollover_enabled: false });
  });

  test.each([[{}], [{ monthly_limit: -1 }], [{ monthly_limit: 1.5 }], [{ monthly_limit: 2_000_000_001 }], [{ monthly_limit: '5' }]])(
    '%j is refused',
    async (json) => {
      const answer = await put(json);
      expectError(answer, 400, 'invalid_request');
      expect(answer.body.error.param).toBe('monthly_limit');
    },
  );
});

describe('PATCH settings', () => {
  const patch = (json: object) => ask(gateway.url, '/v1/credits/settings', { method: 'PATCH', token, json });

  test('null resets the threshold to its default, and no other field can be null', async () => {
    expect((await patch({ low_balance_threshold: null })).body.data).toMatchObject({ low_balance_threshold: null });
    expectError(await patch({ replenish_amount: null }), 400, 'invalid_request');
    expectError(await patch({ replenish_amount: 0 }), 400, 'invalid_request');
  });
});
