import { join } from 'node:path';
import { seed } from '@agent-service/local/seed';
import { type Credentials, readCredentials } from '@agent-service/local/system/secrets';
import { type ReceivedResponse, testFolder } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { furnish, makeAgent, shareWorld, type World } from './world.ts';

let world: World;
let keys: Credentials['api_keys'];
let agentId: string;
let draftId: string;
let oauth: Credentials['oauth'];
/** A member whose monthly limit covers no answer. */
let poorKey: string;

beforeAll(async () => {
  world = await shareWorld();
  const dataDir = await testFolder();
  await seed({ ...world.system, dataDir });
  const credentials = readCredentials(join(dataDir, 'credentials.json')) as Credentials;
  ({ api_keys: keys, oauth } = credentials);
  agentId = await makeAgent(world.call, keys.live);
  draftId = (await furnish<{ id: string }>(world.call, keys.live, 'POST', '/v1/agents', agent([]))).id;
  const member = { name: 'Member', email: 'member@demonstration.example', role: 'member' };
  const { id } = await furnish<{ id: string }>(world.call, keys.live, 'POST', '/v1/users', member);
  await furnish(world.call, keys.live, 'PUT', `/v1/credits/users/${id}/allocation`, { monthly_limit: 3 });
  const options = { organizationId: credentials.organization_id, userId: id, environment: 'live', scopes: ['agents:chat'] };
  poorKey = (await world.operator.createKey(options)).apiKey;
}, 120_000);
afterAll(() => world?.stop());

interface Mistake {
  readonly token?: string | undefined;
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON unless it is a text. */
  readonly body?: unknown;
}

function send({ token = keys.live, method = 'GET', path, headers, body }: Mistake): Promise<ReceivedResponse> {
  const content = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
  return world.call(token || undefined, {
    method,
    path,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...content,
  });
}

const message = { message: 'How many orders are there?' };
const agent = (scope: string[]) => ({ name: 'A', system_prompt: 'Answer.', data_scope: { tables: scope } });

/** The mistake, the code and field of the answer, and the words that tell a beginner what to do. */
const mistakes: readonly [string, () => Mistake, string, string | null, RegExp][] = [
  [
    'a key with a typing error',
    () => ({ token: `${keys.live.slice(0, -1)}${keys.live.endsWith('x') ? 'y' : 'x'}`, path: '/v1/agents' }),
    'invalid_token',
    null,
    /mistyped or cut off.*copy it again/,
  ],
  ['a key that was cut off', () => ({ token: keys.live.slice(0, 30), path: '/v1/agents' }), 'invalid_token', null, /mistyped or cut off/],
  ['a word in place of a key', () => ({ token: 'my-key', path: '/v1/agents' }), 'invalid_token', null, /sa_live_/],
  ['no key', () => ({ token: '', path: '/v1/agents' }), 'missing_token', null, /Authorization: Bearer/],
  [
    'a test key for an agent of live',
    () => ({ token: keys.test, method: 'POST', path: `/v1/agents/${agentId}/messages`, body: message }),
    'not_found',
    'agent_id',
    /no agent .*test key.*sa_live_/,
  ],
  [
    'a live key for an agent of test',
    () => ({ path: `/v1/agents/agt_00000000000000000000000000` }),
    'not_found',
    'agent_id',
    /no agent.*agt_0000.*GET \/v1\/agents/,
  ],
  ['an unknown user', () => ({ path: '/v1/users/usr_00000000000000000000000000' }), 'not_found', 'user_id', /no user.*GET \/v1\/users/],
  ['an unknown template', () => ({ path: '/v1/templates/tpl_none' }), 'not_found', 'template_id', /no template.*GET \/v1\/templates/],
  [
    'an unknown conversation',
    () => ({
      method: 'POST',
      path: `/v1/agents/${agentId}/messages`,
      body: { ...message, conversation_id: 'conv_00000000000000000000000000' },
    }),
    'not_found',
    'conversation_id',
    /no conversation conv_0.*GET \/v1\/agents\/\{agent_id\}\/conversations/,
  ],
  [
    'an unknown agent in a conversation',
    () => ({
      method: 'POST',
      path: '/v1/agents/agt_00000000000000000000000000/messages',
      body: { ...message, conversation_id: 'conv_00000000000000000000000000' },
    }),
    'not_found',
    'agent_id',
    /no agent agt_0.*GET \/v1\/agents lists/,
  ],
  [
    'JSON with a trailing comma',
    () => ({ method: 'POST', path: '/v1/agents', body: '{"name":"A",\n "system_prompt":"x",}' }),
    'invalid_json',
    null,
    /line 2, column 22/,
  ],
  ['JSON that ends early', () => ({ method: 'POST', path: '/v1/agents', body: '{"name":"A"' }), 'invalid_json', null, /line 1, column 12/],
  [
    'a form in place of JSON',
    () => ({ method: 'POST', path: '/v1/agents', body: 'name=A', headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
    'unsupported_media_type',
    null,
    /Content-Type: application\/json/,
  ],
  [
    'a field that is misspelt',
    () => ({ method: 'POST', path: '/v1/agents', body: { name: 'A', sytem_prompt: 'x', data_scope: { tables: [] } } }),
    'invalid_request',
    'system_prompt',
    /required/,
  ],
  [
    'a table that is misspelt',
    () => ({ method: 'POST', path: '/v1/agents', body: agent(['customer']) }),
    'invalid_request',
    'data_scope.tables[0]',
    /no table customer.*Did you mean customers\?.*order_items/,
  ],
  [
    'a column that is misspelt',
    () => ({ method: 'POST', path: '/v1/agents', body: agent(['orders(id, totl)']) }),
    'invalid_request',
    'data_scope.tables[0]',
    /no column totl.*Did you mean total\?.*order_date/,
  ],
  [
    'a message to a draft',
    () => ({ method: 'POST', path: `/v1/agents/${draftId}/messages`, body: message }),
    'agent_not_active',
    null,
    /PATCH.*"status":"active"/,
  ],
  [
    'more than the monthly limit',
    () => ({ token: poorKey, method: 'POST', path: `/v1/agents/${agentId}/messages`, body: message }),
    'user_limit_reached',
    null,
    /needs up to 4 credits, and 3 are left of the user's monthly limit of 3, of which 0 are used.*renews on \d{4}-\d{2}-01.*administrator.*allocation/,
  ],
  ['a scope that the key does not have', () => ({ token: poorKey, path: '/v1/users' }), 'insufficient_scope', null, /users:read/],
  [
    'a method that the path does not have',
    () => ({ method: 'PUT', path: '/v1/agents', body: {} }),
    'method_not_allowed',
    null,
    /GET, HEAD, POST/,
  ],
  ['a path that is misspelt', () => ({ path: '/v1/agent' }), 'not_found', null, /\/v1\/agent.*\/docs/],
  ['a limit beyond the largest', () => ({ path: '/v1/agents?limit=1000' }), 'invalid_request', 'limit', /from 1 to 100/],
  ['an unknown filter', () => ({ path: '/v1/agents?state=active' }), 'invalid_request', 'state', /not known here/],
];

test.each(mistakes)('%s: the answer names the field and says what to do', async (_, mistake, code, param, remedy) => {
  const answer = await send(mistake());
  const { error } = answer.json<{ error: { code: string; message: string; param: string | null } }>();
  expect({ code: error.code, param: error.param, message: error.message }).toEqual({ code, param, message: expect.stringMatching(remedy) });
  expect(answer.status).toBeLessThan(500);
});

test('a wrong client secret is refused by the token endpoint as OAuth has it', async () => {
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: oauth.client_id, client_secret: 'wrong' }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const answer = await world.call(undefined, { method: 'POST', path: '/v1/auth/oauth/token', headers, body });
  expect([answer.status, answer.json()]).toEqual([401, { error: 'invalid_client', error_description: expect.any(String) }]);
});
