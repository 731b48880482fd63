import { createClient, withCall } from '@agent-service/contracts';
import { freePort } from '@agent-service/local/host/ports';
import { send, type TestDatabase, testDatabase, until, withDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readPortalConfig } from '../src/config.ts';
import { outcome, type PortalWorld, password, sharePortalWorld } from './portal-world.ts';

const secret = 'a-word-that-nobody-may-see';
let world: PortalWorld;
let business: TestDatabase;
let url = '';

beforeAll(async () => {
  [world, business] = await Promise.all([sharePortalWorld(), testDatabase()]);
  const reader = `${new URL(business.url).pathname.slice(1)}_reader`;
  await withDatabase(business.url, async (client) => {
    await client.query(`create role "${reader}" login password '${secret}'`);
    await client.query(`create table orders (id integer primary key, total numeric); grant select on orders to "${reader}"`);
  });
  const target = new URL(business.url);
  [target.username, target.password] = [reader, secret];
  url = target.href;
});
afterAll(async () => {
  await world?.stop();
  await business?.drop();
});

interface AuditEntry {
  readonly action: string;
  readonly actor: object;
}

type SignedIn = Awaited<ReturnType<PortalWorld['signIn']>>;

async function signedInAdministrator() {
  const organization = await world.makeOrganization();
  return { ...organization, browser: await world.signIn(organization.email) };
}

const connect = (browser: SignedIn, body: object = { url }, environment = 'live') =>
  world.request('PUT', `/api/${environment}/data-source`, browser, body);
const read = async (browser: SignedIn, environment = 'live') =>
  (await world.request('GET', `/api/${environment}/data-source`, browser)).json<{ data: { data_source: Record<string, unknown> | null } }>()
    .data.data_source;

describe('the data source of an organization', () => {
  test('is tested, connected, replaced and removed by an administrator, whose name the audit log has; no answer has the password', async () => {
    const { organizationId, userId, browser } = await signedInAdministrator();
    expect(await read(browser)).toBeNull();
    const tested = await world.request('POST', '/api/live/data-source/test', browser, { url });
    expect(tested.json()).toMatchObject({ data: { tables: 1, role_gate: { active: false }, server_version: expect.any(String) } });
    expect(await read(browser)).toBeNull();
    const connected = await connect(browser);
    const { hostname, port, pathname, username } = new URL(url);
    const expected = { connected_by: 'user', host: hostname, port: Number(port), database: pathname.slice(1), user: username, tls: 'off' };
    expect(connected.json()).toMatchObject({ data: { data_source: { ...expected, version: 1 }, tables: 1 } });
    expect(await read(browser)).toMatchObject(expected);
    expect(await read(browser, 'test')).toBeNull();
    expect(outcome(await world.request('POST', '/api/live/data-source/test', browser, {}))).toBe('200');
    expect((await connect(browser)).json()).toMatchObject({ data: { data_source: { version: 2 } } });
    const removed = await world.request('DELETE', '/api/live/data-source', browser);
    expect([removed.status, await read(browser)]).toEqual([204, null]);
    const scopes = ['audit:read'];
    const { apiKey } = await world.operator.createKey({ organizationId, userId, environment: 'live', scopes, admin: true });
    const actions = async () => {
      const headers = { authorization: `Bearer ${apiKey}` };
      const { data } = (await send(world.system.url, { method: 'GET', path: '/v1/audit', headers })).json<{ data: AuditEntry[] }>();
      return data.filter(({ action }) => action.startsWith('data_source'));
    };
    await until('the changes are in the audit log', async () => (await actions()).length === 3);
    for (const entry of await actions())
      expect(entry.actor).toMatchObject({ type: 'user', id: userId, key_id: expect.stringMatching(/^ses_/) });
    expect(JSON.stringify([tested.text, connected.text, await actions()])).not.toContain(secret);
  });

  test('stays as it is when another database is refused, and the refusal says why', async () => {
    const { browser } = await signedInAdministrator();
    await connect(browser);
    const refusals: [object, string, RegExp][] = [
      [{ url: 'mysql://u:p@db.example.com/x' }, '400 invalid_request', /has the form postgres/],
      [{ url: 'postgres://u:p@db.example.com/x' }, '400 invalid_request', /sslmode/],
      [{ url: `postgres://u:p@127.0.0.1:${await freePort()}/x` }, '503 data_source_unavailable', /accepts no connection at this port/],
      [{ url: 'postgres://u:p@no-host.invalid/x?sslmode=require' }, '503 data_source_unavailable', /no address was found for the name/],
      // The server of this test trusts every account that it has.
      [{ url: url.replace('_reader', '_stranger') }, '503 data_source_unavailable', /refuses the account/],
      [{ url: business.url }, '400 invalid_request', /is a superuser/],
      [{ url, ca_certificate: 'none' }, '400 invalid_request', /certificate/],
      [{ url, allow_superuser: true }, '400 invalid_request', /allow_superuser/],
    ];
    for (const [body, expected, message] of refusals) {
      const reply = await connect(browser, body);
      expect([body, outcome(reply)]).toEqual([body, expected]);
      expect(reply.text).toMatch(message);
      expect(reply.text).not.toContain(secret);
    }
    expect(await read(browser)).toMatchObject({ version: 1 });
  });

  test('may not be on a private network, on the machine’s sockets or at the metadata address of a cloud', async () => {
    const { browser } = await signedInAdministrator();
    for (const target of ['10.0.0.1', '192.168.1.1', '169.254.169.254', '[fd00::1]', '[::ffff:10.0.0.1]', '%2Fvar%2Frun'])
      for (const [method, path] of [
        ['PUT', '/api/live/data-source'],
        ['POST', '/api/live/data-source/test'],
      ] as const) {
        const reply = await world.request(method, path, browser, { url: `postgres://u:p@${target}/x?sslmode=disable` });
        expect([target, outcome(reply)]).toEqual([target, '400 invalid_request']);
        expect(reply.text).toMatch(/private or reserved address|must be on a host/);
      }
    const socket = await connect(browser, { url: 'postgres://u:p@h/x?host=/var/run/postgresql&sslmode=disable' });
    expect(socket.text).toMatch(/must be on a host/);
  });

  test('is closed to members, to other organizations, to requests without a session and to former administrators', async () => {
    const { organizationId, browser } = await signedInAdministrator();
    const { browser: other } = await signedInAdministrator();
    await connect(browser);
    const email = `member-of-${organizationId}@portal.example`;
    const principal = { organizationId, environment: 'live', userId: '', credentialId: '', scopes: ['users:write'], admin: true } as const;
    const context = { requestId: 'test', principal, expiresAt: performance.now() + 10_000 };
    const { user } = await withCall(context, () => world.operator.createUser({ name: 'Member', email, role: 'member' }));
    await world.operator.setUserPassword({ organizationId, userId: user?.id ?? '', password });
    const member = await world.signIn(email);
    const requests: [string, string, object?][] = [
      ['GET', '/api/live/data-source'],
      ['PUT', '/api/live/data-source', { url }],
      ['POST', '/api/live/data-source/test', {}],
      ['DELETE', '/api/live/data-source'],
    ];
    for (const [method, path, body] of requests) {
      expect([path, outcome(await world.request(method, path, member, body))]).toEqual([path, '403 admin_required']);
      expect([path, outcome(await world.request(method, path, { ...member, csrf: 'x'.repeat(43) }, body))]).toEqual([
        path,
        method === 'GET' ? '403 admin_required' : '403 csrf_refused',
      ]);
      expect(outcome(await world.request(method, path, {}, body))).toBe('401 unauthorized');
    }
    expect(await read(other)).toBeNull();
    await world.request('DELETE', '/api/live/data-source', other);
    expect(await read(browser)).toMatchObject({ version: 1 });
  });

  test('is read and changed with another token after one that identity refuses, as when the key that signed it was revoked', async () => {
    const { userId, browser } = await signedInAdministrator();
    // The token that the portal keeps names the session that was, and the next one the session that is.
    const refuseToken = () =>
      withDatabase(world.system.endpoints['postgres'] ?? '', (client) =>
        client.query(`update identity.portal_sessions set id = 'ses_' || md5(id) where user_id = $1`, [userId]),
      );
    const requests: [string, string, object?][] = [
      ['GET', '/api/live/data-source'],
      ['PUT', '/api/live/data-source', { url }],
      ['POST', '/api/live/data-source/test', {}],
      ['DELETE', '/api/live/data-source'],
    ];
    await read(browser);
    for (const [method, path, body] of requests) {
      await refuseToken();
      expect([method, outcome(await world.request(method, path, browser, body))]).toEqual([method, method === 'DELETE' ? '204' : '200']);
    }
  });

  test('shows no address where an operator has connected it, and may be replaced', async () => {
    const { organizationId, browser } = await signedInAdministrator();
    const agents = createClient('agents', {
      address: world.settings.AGENTS_ADDRESS,
      as: 'operator',
      config: readPortalConfig(world.settings),
    });
    await agents.connectDataSource({ organizationId, environment: 'live', url });
    expect(await read(browser)).toMatchObject({ connected_by: 'operator', host: null, user: null, version: 1 });
    expect(outcome(await connect(browser))).toBe('200');
    expect(await read(browser)).toMatchObject({ connected_by: 'user', version: 2 });
    agents.close();
  });
});

test('agents trusts identity, not the portal: an invalid token and those of a key or a member change nothing', async () => {
  const { organizationId, userId } = await world.makeOrganization();
  const config = readPortalConfig(world.settings);
  const portal = createClient('agents', { address: world.settings.AGENTS_ADDRESS, as: 'portal', config });
  const { apiKey } = await world.operator.createKey({
    organizationId,
    userId,
    environment: 'live',
    scopes: ['agents:write'],
    admin: false,
  });
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      ({ code }: { code: string }) => code,
    );
  for (const [accessToken, expected] of [
    ['', 'unauthorized'],
    ['not a token', 'unauthorized'],
    [apiKey, 'admin_required'],
  ] as const) {
    const calls = [
      portal.connectDataSource({ organizationId, environment: 'live', url, accessToken }),
      portal.testDataSource({ organizationId, environment: 'live', url, accessToken }),
      portal.listDataSources({ organizationId, environment: 'live', accessToken }),
      portal.removeDataSource({ organizationId, environment: 'live', accessToken }),
    ];
    expect(await Promise.all(calls.map(codeOf))).toEqual(calls.map(() => expected));
  }
  portal.close();
});
