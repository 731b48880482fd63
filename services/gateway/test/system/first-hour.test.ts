import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { seed } from '@agent-service/local/seed';
import { firstSteps } from '@agent-service/local/system/banner';
import { type Credentials, readCredentials } from '@agent-service/local/system/secrets';
import { clientOf } from '@agent-service/local/system/system';
import { testFolder } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { furnish, shareWorld, type World } from './world.ts';

let world: World;
let dataDir: string;
const lines: string[] = [];
/** A start of `npm start` with a DATA_DIR of this file's own, which makes an organization of its own. */
const seedAgain = async (folder = dataDir): Promise<Credentials> => {
  await seed({ ...world.system, dataDir: folder }, (line) => lines.push(line));
  return readCredentials(join(folder, 'credentials.json')) as Credentials;
};
let credentials: Credentials;

beforeAll(async () => {
  world = await shareWorld();
  dataDir = await testFolder();
  credentials = await seedAgain();
}, 120_000);
afterAll(() => world?.stop());

const read = async (key: string, path: string) =>
  (await world.call(key, { method: 'GET', path })).json<{ data: Record<string, unknown> }>().data;

test('the three things to try run as they are printed, with the output that is printed', async () => {
  const steps = firstSteps(world.system.url, credentials.api_keys.live);
  const script = steps.map(({ command }) => command).join('\necho "=== next"\n');
  const { stdout } = await promisify(execFile)('sh', ['-euc', script]);
  const outputs = stdout.split('=== next\n');
  expect(outputs).toHaveLength(3);
  for (const [index, { output }] of steps.entries()) expect(outputs[index]?.trim()).toMatch(patternOf(output));
  // A second start prints them again.
  const again = await promisify(execFile)('sh', ['-euc', steps[0]?.command ?? '']);
  expect(again.stdout).toBe(outputs[0]);
});

/** The printed output as a pattern: … stands for any text. */
const patternOf = (output: string) =>
  new RegExp(
    `^${output
      .split('…')
      .map((part) => part.replace(/[{}[\]().*+?^$|\\]/g, '\\$&'))
      .join('[\\s\\S]*')}$`,
  );

test.each(['live', 'test'] as const)('the administrator of the demonstration can spend 50,000 credits in %s', async (environment) => {
  const key = credentials.api_keys[environment];
  const users = (await world.call(key, { method: 'GET', path: '/v1/users' })).json<{ data: { id: string }[] }>().data;
  expect(users).toHaveLength(2);
  const allocations = await Promise.all(users.map(async ({ id }) => (await read(key, `/v1/credits/users/${id}/balance`))['monthly_limit']));
  expect(allocations).toContain(50_000);
});

test('a start after a printed key was revoked replaces it in the same organization, and says so', async () => {
  const { live, test: testKey } = credentials.api_keys;
  const gateway = clientOf(world.system, 'identity', 'gateway');
  const { results } = await gateway.authenticate({ tokens: [live] });
  gateway.close();
  await world.operator.revokeKey({ keyId: results[0]?.principal?.credentialId ?? '' });
  lines.length = 0;
  const renewed = await seedAgain();
  expect(renewed).toEqual({ ...credentials, api_keys: { live: expect.not.stringMatching(live), test: testKey } });
  expect(lines).toEqual(['The live key of credentials.json is not valid any more: a new key of the same organization replaces it.']);
  expect((await world.call(renewed.api_keys.live, { method: 'GET', path: '/v1/users' })).status).toBe(200);
  lines.length = 0;
  expect(await seedAgain()).toEqual(renewed);
  expect(lines).toEqual([]);
});

test('a start after the printed application was revoked replaces it in the same organization, and says so', async () => {
  const known = await seedAgain();
  await world.operator.revokeOauthClient({ clientId: known.oauth.client_id });
  lines.length = 0;
  const renewed = await seedAgain();
  expect(renewed).toEqual({ ...known, oauth: { client_id: expect.any(String), client_secret: expect.any(String) } });
  expect(lines).toEqual([
    'The OAuth application of credentials.json is not valid any more: a new one of the same organization replaces it.',
  ]);
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...renewed.oauth }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  expect((await world.call(undefined, { method: 'POST', path: '/v1/auth/oauth/token', headers, body })).status).toBe(200);
  lines.length = 0;
  expect([await seedAgain(), lines]).toEqual([renewed, []]);
});

test('the only administrator can neither be deactivated nor demoted', async () => {
  const { api_keys: keys } = await seedAgain();
  const me = (await read(keys.live, '/v1/me'))['user'] as { id: string };
  for (const change of [{ status: 'deactivated' }, { role: 'member' }]) {
    const answer = await world.call(keys.live, {
      method: 'PATCH',
      path: `/v1/users/${me.id}`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(change),
    });
    const { code, message } = answer.json<{ error: { code: string; message: string } }>().error;
    expect([answer.status, code]).toEqual([409, expect.stringMatching(/^(last_admin|own_role_or_status)$/)]);
    expect(message).toMatch(/administrator/);
  }
  expect((await world.call(keys.live, { method: 'GET', path: '/v1/users' })).status).toBe(200);
});

test('the login follows its administrator to another address', async () => {
  const folder = await testFolder();
  const { api_keys: keys, portal_login: login } = await seedAgain(folder);
  const own = (await read(keys.live, '/v1/me'))['user'] as { id: string };
  await furnish(world.call, keys.live, 'PATCH', `/v1/users/${own.id}`, { email: 'moved@example.com' });
  expect((await seedAgain(folder)).portal_login).toEqual({ email: 'moved@example.com', password: login?.password });
});

test('a start changes the password of no administrator but its own', async () => {
  const folder = await testFolder();
  const { organization_id: organizationId, api_keys: keys, portal_login: login } = await seedAgain(folder);
  const own = (await read(keys.live, '/v1/me'))['user'] as { id: string };
  const makeAdministrator = (email: string) =>
    furnish<{ id: string }>(world.call, keys.live, 'POST', '/v1/users', { name: 'Bob', email, role: 'admin' });
  const [bob] = await Promise.all(Array.from({ length: 21 }, (_, index) => makeAdministrator(`bob${index}@example.com`)));
  const userId = bob?.id ?? '';
  await world.operator.setUserPassword({ organizationId, userId, password: 'correct horse battery' });
  lines.length = 0;
  expect([(await seedAgain(folder)).portal_login, lines]).toEqual([login, []]);

  const { apiKey } = await world.operator.createKey({ organizationId, userId, environment: 'live', scopes: [], admin: true });
  await furnish(world.call, apiKey, 'PATCH', `/v1/users/${own.id}`, { status: 'deactivated' });
  for (const _ of [1, 2]) expect((await seedAgain(folder)).portal_login).toBeUndefined();
  expect(lines).toContain(
    'The administrator of the demonstration (admin@demonstration.example) is gone, so there is no login to the portal.',
  );
  // As the first release left the file where it had set the password of another administrator.
  const { administrator_id: _, ...former } = await seedAgain(folder);
  const faulty = { ...former, portal_login: { email: 'bob0@example.com', password: 'a password of the demonstration' } };
  writeFileSync(join(folder, 'credentials.json'), JSON.stringify(faulty));
  expect((await seedAgain(folder)).portal_login).toBeUndefined();
  const portal = clientOf(world.system, 'identity', 'portal');
  const client = { address: '10.7.0.1', countedAddress: '10.7.0.1', userAgent: 'a browser' };
  const { opened } = await portal.signIn({ email: 'bob0@example.com', password: 'correct horse battery', organizationId, client });
  portal.close();
  expect(opened?.session?.organizationId).toBe(organizationId);
});
