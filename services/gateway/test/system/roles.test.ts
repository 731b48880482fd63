import { randomUUID } from 'node:crypto';
import type { Environment } from '@agent-service/contracts';
import type { SentRequest } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { everyRoute } from '../../src/routes/index.ts';
import { makeIds, validRequest } from './requests.ts';
import { connectCredits, spend } from './spend.ts';
import { keepBusy, shareWorld, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await shareWorld();
});
afterAll(() => world?.stop());

const json = { 'content-type': 'application/json' };
const codeOf = (text: string) => (JSON.parse(text) as { error?: { code: string } }).error?.code;

const patch = (userId: string, changes: object): SentRequest => ({
  method: 'PATCH',
  path: `/v1/users/${userId}`,
  headers: json,
  body: JSON.stringify(changes),
});

/** The status of a gateway's response, and the code of a refusal. */
async function outcome(token: string, request: SentRequest, gateway?: string): Promise<string> {
  const answer = await world.call(token, request, gateway);
  return answer.status < 400 ? `${answer.status}` : `${answer.status} ${codeOf(answer.text)}`;
}

const onEveryGateway = (token: string, request: SentRequest) =>
  Promise.all(world.gateways.map((gateway) => outcome(token, request, gateway)));

async function makeUser(role: 'admin' | 'member'): Promise<string> {
  const email = `${randomUUID()}@roles.example`;
  const { user } = await world.inOrganization(world.ours, () => world.operator.createUser({ name: 'Made', email, role }));
  return user?.id ?? '';
}

/** With every scope of the role of the user. */
async function makeKey(userId: string, environment: Environment = 'live', admin = true): Promise<string> {
  return (await world.operator.createKey({ organizationId: world.ours.id, userId, environment, scopes: [], admin })).apiKey;
}

async function demote(userId: string): Promise<void> {
  expect(await outcome(world.ours.keys.live, patch(userId, { role: 'member' }))).toBe('200');
}

async function tokenOf(key: string): Promise<string> {
  const request = { method: 'POST', path: '/v1/auth/token', headers: json, body: JSON.stringify({ api_key: key }) };
  return (await world.call(undefined, request)).json<{ data: { access_token: string } }>().data.access_token;
}

function askAsApplication(client: { clientId: string; clientSecret: string }, scope = '') {
  const form = {
    grant_type: 'client_credentials',
    client_id: client.clientId,
    client_secret: client.clientSecret,
    ...(scope && { scope }),
  };
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return world.call(undefined, { method: 'POST', path: '/v1/auth/oauth/token', headers, body: new URLSearchParams(form).toString() });
}

const scopeRefused = '403 insufficient_scope';
const flagRefused = '403 admin_required';

interface Access {
  member?: string;
  application?: string;
  test?: string;
}

const forAll: Access = {};
const forAdministrators: Access = { member: scopeRefused };
const forLiveAdministrators: Access = { member: scopeRefused, test: scopeRefused };
const forAdminKeys: Access = { member: flagRefused, application: flagRefused };
const forFlaggedAdministrators: Access = { member: scopeRefused, application: flagRefused };

/** The expected outcomes for an administrator's key, a member's key, an application and a key of the test environment. */
const access: Readonly<Record<string, Access>> = {
  issueToken: forAll,
  issueOauthToken: forAll,
  listSigningKeys: forAll,
  revokeKey: forAdminKeys,
  getSelf: forAll,
  listKeys: forAdminKeys,
  createKey: forAdminKeys,
  getKey: forAdminKeys,
  updateKey: forAdminKeys,
  rotateKey: forAdminKeys,
  listOauthApplications: forAdminKeys,
  createOauthApplication: forAdminKeys,
  getOauthApplication: forAdminKeys,
  updateOauthApplication: forAdminKeys,
  rotateOauthSecret: forAdminKeys,
  revokeOauthApplication: forAdminKeys,
  listAgents: forAll,
  createAgent: forAll,
  getAgent: forAll,
  updateAgent: forAll,
  deleteAgent: forAll,
  issueAgentToken: forAll,
  sendMessage: forAll,
  streamMessage: forAll,
  getMessage: forAll,
  cancelAnswer: forAll,
  listConversations: forAll,
  listMessages: forAll,
  getConversation: forAll,
  updateConversation: forAll,
  deleteConversation: forAll,
  setFeedback: forAll,
  getDataSource: forAll,
  getCreditSettings: forAll,
  listTemplates: forAll,
  getTemplate: forAll,
  duplicateTemplate: forAll,
  activateTemplate: forAdministrators,
  deactivateTemplate: forAdministrators,
  listUsers: forAdministrators,
  getUser: forAdministrators,
  createUser: forLiveAdministrators,
  updateUser: forLiveAdministrators,
  listAuditEntries: forAdministrators,
  getBalance: forAll,
  getUserBalance: forAll,
  listUsage: forAll,
  getUsageSummary: forAll,
  setAllocation: forAdministrators,
  updateCreditSettings: forFlaggedAdministrators,
  listWebhooks: forAdministrators,
  createWebhook: forAdministrators,
  updateWebhook: forAdministrators,
  deleteWebhook: forAdministrators,
  rotateWebhookSecret: forAdministrators,
  testWebhook: forAdministrators,
  listWebhookDeliveries: forAdministrators,
  redeliverWebhookDelivery: forAdministrators,
};

describe('the role matrix', () => {
  const callers = new Map<keyof Access | 'admin', string>();
  beforeAll(async () => {
    const member = await makeUser('admin');
    callers.set('admin', world.ours.keys.live);
    callers.set('member', await makeKey(member));
    await demote(member);
    const application = await world.operator.createOauthClient({ organizationId: world.ours.id, environment: 'live' });
    callers.set('application', (await askAsApplication(application)).json<{ access_token: string }>().access_token);
    callers.set('test', world.ours.keys.test);
  });

  test('names every operation of the document', async () => {
    const document = (await world.call(undefined, { method: 'GET', path: '/openapi.json' })).json<{
      paths: Record<string, Record<string, { operationId: string; 'x-role'?: string }>>;
    }>();
    const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
    expect(operations.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(access).sort());
    const forAdmins = operations.filter((operation) => operation['x-role'] === 'admin').map(({ operationId }) => operationId);
    expect(forAdmins.sort()).toEqual(
      Object.entries(access)
        .filter(([, { member }]) => member)
        .map(([name]) => name)
        .sort(),
    );
  });

  test.each(everyRoute.filter(({ auth }) => auth === 'token').map((route) => [route.operationId, route] as const))(
    '%s',
    async (name, route) => {
      for (const [caller, token] of callers) {
        const answer = await outcome(token, validRequest(route, await makeIds(world, world.ours, route)));
        const refusal = caller === 'admin' ? undefined : access[name]?.[caller];
        if (refusal) expect([caller, answer]).toEqual([caller, refusal]);
        else expect([caller, answer]).toEqual([caller, expect.not.stringMatching(/^(401|403|5)/)]);
        if (caller === 'admin') expect(answer).toMatch(/^2/);
      }
    },
  );
});

describe('a member with a key of every scope and the administrator flag', () => {
  let userId: string;
  let key: string;
  let application: { clientId: string; clientSecret: string };
  // Both were made while the user was an administrator.
  beforeAll(async () => {
    userId = await makeUser('admin');
    key = await makeKey(userId);
    const scopes = ['agents:read', 'users:write'];
    application = await world.operator.createOauthClient({ organizationId: world.ours.id, environment: 'live', userId, scopes });
    await demote(userId);
  });

  test('cannot become an administrator, make one, set an allocation or read the audit log, by key or by token', async () => {
    const allocation = (id: string, limit: number): SentRequest => ({
      method: 'PUT',
      path: `/v1/credits/users/${id}/allocation`,
      headers: json,
      body: JSON.stringify({ monthly_limit: limit }),
    });
    const attempts: SentRequest[] = [
      patch(userId, { role: 'admin' }),
      patch(world.ours.adminId, { role: 'member' }),
      { method: 'POST', path: '/v1/users', headers: json, body: JSON.stringify({ name: 'M', email: 'm@roles.example', role: 'admin' }) },
      allocation(userId, 50_000),
      allocation(world.ours.adminId, 0),
      { method: 'GET', path: '/v1/audit' },
    ];
    for (const token of [key, await tokenOf(key)])
      for (const attempt of attempts) expect([attempt.path, await outcome(token, attempt)]).toEqual([attempt.path, scopeRefused]);
    expect(await outcome(key, { method: 'GET', path: '/v1/agents' })).toBe('200');
  });

  test('receives an error that names the role and the remaining scopes', async () => {
    const { error } = (await world.call(key, { method: 'GET', path: '/v1/audit' })).json<{
      error: { message: string; details: { granted: string[] } };
    }>();
    expect(error.message).toContain('Only administrators may do this');
    expect(error.details.granted.toSorted()).toEqual(['agents:chat', 'agents:read', 'agents:write', 'credits:read', 'templates:read']);
  });

  test('reads the beginnings of its own messages in the usage, and not those of an administrator', async () => {
    const credits = connectCredits(world.system.endpoints['credits'] ?? '', world.system.secrets.SERVICE_SECRET);
    await spend(credits, world.ours.id, 'live', userId);
    credits.close();
    const summaries = async (token: string, ownerId: string) => {
      const answer = await world.call(token, { method: 'GET', path: `/v1/credits/usage?user_id=${ownerId}` });
      const { data } = answer.json<{ data: { query_summary: string }[] }>();
      return [...new Set(data.map(({ query_summary: summary }) => summary))];
    };
    for (const token of [key, await tokenOf(key)]) {
      expect(await summaries(token, userId)).toEqual(['How much?']);
      expect(await summaries(token, world.ours.adminId)).toEqual(['']);
    }
    for (const ownerId of [userId, world.ours.adminId]) expect(await summaries(world.ours.keys.live, ownerId)).toContain('How much?');
  });

  test('gets the scopes of a member where none are named, as does an application of the member', async () => {
    const plain = await makeKey(userId, 'live', false);
    const { error } = (await world.call(plain, { method: 'GET', path: '/v1/audit' })).json<{ error: { details: { granted: string[] } } }>();
    expect(error.details.granted).toHaveLength(5);
    expect((await askAsApplication(application)).json<{ scope: string }>().scope).toBe('agents:read');
    const refused = await askAsApplication(application, 'users:write');
    expect([refused.status, refused.json<{ error: string }>().error]).toEqual([400, 'invalid_scope']);
  });
});

describe('a change of role', () => {
  test('applies on every gateway after its response, to keys and to tokens issued before', async () => {
    const userId = await makeUser('admin');
    const key = await makeKey(userId);
    const token = await tokenOf(key);
    const users = { method: 'GET', path: '/v1/users' };
    expect(await Promise.all([key, token].map((each) => onEveryGateway(each, users)))).toEqual([
      ['200', '200'],
      ['200', '200'],
    ]);
    const callAll = () => Promise.all([key, token].map((each) => onEveryGateway(each, users)));
    const rest = keepBusy(callAll);
    const demoted = await outcome(world.ours.keys.live, patch(userId, { role: 'member' }));
    const after = await callAll();
    await rest();
    expect(demoted).toBe('200');
    expect(after).toEqual([
      [scopeRefused, scopeRefused],
      [scopeRefused, scopeRefused],
    ]);
    const { id } = await world.makeKey(world.ours, 'live');
    expect(await outcome(token, { method: 'DELETE', path: `/v1/auth/keys/${id}` })).toBe(flagRefused);
  });

  test('cannot be made by the user itself, and leaves an administrator', async () => {
    const [one, two] = [await makeUser('admin'), await makeUser('admin')];
    const [ofOne, ofTwo] = [await makeKey(one), await makeKey(two)];
    expect(await outcome(ofOne, patch(one, { role: 'member' }))).toBe('403 own_role_or_status');
    expect(await outcome(ofOne, patch(one, { status: 'deactivated' }))).toBe('403 own_role_or_status');
    expect(await outcome(ofOne, patch(one, { name: 'Renamed' }))).toBe('200');
    expect(await outcome(ofTwo, patch(one, { role: 'member' }))).toBe('200');
    expect(await outcome(ofTwo, patch(one, { role: 'admin' }))).toBe('200');
    expect(await outcome(ofOne, patch(two, { status: 'deactivated' }))).toBe('200');
    expect(await outcome(ofOne, { method: 'GET', path: '/v1/users' })).toBe('200');
    expect(await outcome(world.ours.keys.live, patch(one, { status: 'deactivated' }))).toBe('200');
  });

  test('of two administrators that demote each other at the same time, one remains', async () => {
    const organization = await world.operator.createOrganization({ name: 'Two' });
    const { user } = await world.inOrganization({ ...world.ours, id: organization.organizationId }, () =>
      world.operator.createUser({ name: 'Second', email: 'second@two.example', role: 'admin' }),
    );
    const second = user?.id ?? '';
    const { apiKey } = await world.operator.createKey({
      organizationId: organization.organizationId,
      userId: second,
      environment: 'live',
      admin: true,
    });
    const outcomes = await Promise.all([
      outcome(organization.liveApiKey, patch(second, { role: 'member' })),
      outcome(apiKey, patch(organization.userId, { role: 'member' }), world.gateways[1]),
    ]);
    expect(outcomes.filter((each) => each === '200')).toHaveLength(1);
    expect(outcomes.filter((each) => each !== '200')).toEqual([expect.stringMatching(/^(409 last_admin|403 \w+)$/)]);
  });

  test('the last administrator can be neither deactivated nor demoted', async () => {
    const { adminId, keys } = world.theirs;
    expect(await outcome(keys.live, patch(adminId, { status: 'deactivated' }))).toBe('409 last_admin');
    expect(await outcome(keys.live, patch(adminId, { role: 'member' }))).toBe('409 last_admin');
    expect(await outcome(keys.live, { method: 'GET', path: '/v1/users' })).toBe('200');
  });
});

describe('limits of other credentials', () => {
  test('a key of the test environment cannot deactivate a user or revoke a live key', async () => {
    const userId = await makeUser('member');
    const key = await makeKey(userId, 'live', false);
    for (const token of [world.ours.keys.test, await tokenOf(world.ours.keys.test)])
      expect(await outcome(token, patch(userId, { status: 'deactivated' }))).toBe(scopeRefused);
    expect(await outcome(key, { method: 'GET', path: '/v1/agents' })).toBe('200');
    const { error } = (await world.call(world.ours.keys.test, patch(userId, { name: 'X' }))).json<{ error: { message: string } }>();
    expect(error.message).toContain('test environment');
  });

  test('a deactivation returns the number of keys and applications that ended with it', async () => {
    const userId = await makeUser('member');
    const keys = [await makeKey(userId, 'live', false), await makeKey(userId, 'test', false)];
    await world.operator.createOauthClient({ organizationId: world.ours.id, environment: 'test', userId });
    const answer = await world.call(world.ours.keys.live, patch(userId, { status: 'deactivated' }));
    expect(answer.json<{ data: object }>().data).toMatchObject({
      status: 'deactivated',
      ended_credentials: { api_keys: 2, oauth_applications: 1 },
    });
    for (const key of keys)
      expect(await onEveryGateway(key, { method: 'GET', path: '/v1/agents' })).toEqual(['401 token_revoked', '401 token_revoked']);
    const again = await world.call(world.ours.keys.live, patch(userId, { name: 'Gone' }));
    expect(again.json<{ data: object }>().data).not.toHaveProperty('ended_credentials');
  });

  test('an application with users:write cannot promote or demote an administrator', async () => {
    const application = await world.operator.createOauthClient({
      organizationId: world.ours.id,
      environment: 'live',
      scopes: ['users:write'],
    });
    const { access_token: token } = (await askAsApplication(application)).json<{ access_token: string }>();
    const member = await makeUser('member');
    expect(await outcome(token, patch(member, { role: 'admin' }))).toBe(flagRefused);
    expect(await outcome(token, patch(world.ours.adminId, { role: 'member' }))).toBe(flagRefused);
    const register = (role: string): SentRequest => ({
      method: 'POST',
      path: '/v1/users',
      headers: json,
      body: JSON.stringify({ name: 'A', email: `${randomUUID()}@roles.example`, role }),
    });
    expect(await outcome(token, register('admin'))).toBe(flagRefused);
    expect(await outcome(token, register('member'))).toBe('201');
  });

  test('an outcome stored under an Idempotency-Key is returned to its own credential only, and only while the role allows the operation', async () => {
    const userId = await makeUser('admin');
    const [key, other] = [await makeKey(userId), await makeKey(userId)];
    const email = `${randomUUID()}@roles.example`;
    const request = {
      method: 'POST',
      path: '/v1/users',
      headers: { ...json, 'idempotency-key': randomUUID() },
      body: JSON.stringify({ name: 'Once', email }),
    };
    expect(await outcome(key, request)).toBe('201');
    expect((await world.call(key, request)).headers['idempotent-replayed']).toBe('true');
    expect(await outcome(other, request)).toBe('409 email_taken');
    expect(await outcome(world.ours.keys.live, patch(userId, { role: 'member' }))).toBe('200');
    expect(await outcome(key, request)).toBe(scopeRefused);
  });
});
