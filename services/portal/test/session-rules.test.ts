import { send, until } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { routes } from '../src/routes/index.ts';
import { type PortalWorld, password, sharePortalWorld } from './portal-world.ts';

let world: PortalWorld;
/** Two processes of the portal, which know of each other's requests only through identity. */
let first: string;
let second: string;
beforeAll(async () => {
  world = await sharePortalWorld();
  [first, second] = await Promise.all([world.open({ GATEWAY_URL: world.system.url }), world.open({ GATEWAY_URL: world.system.url })]);
});
afterAll(() => world?.stop());

const codeOf = ({ status, text }: { status: number; text: string }) =>
  status < 400 ? String(status) : (JSON.parse(text) as { error: { code: string } }).error.code;

type SignedIn = Awaited<ReturnType<PortalWorld['signIn']>>;

/** The outcomes, at both processes, of reads of the session itself, of the API and of what administrators read. */
async function rightsOf(session: SignedIn): Promise<string[]> {
  const paths = ['/api/session', '/api/live/v1/agents', '/api/live/v1/users', '/api/invitations'];
  const requests = [first, second].flatMap((at) => paths.map((path) => world.request('GET', path, session, undefined, at)));
  return (await Promise.all(requests)).map(codeOf);
}

const twice = (...codes: string[]) => [...codes, ...codes];

describe('each route that changes something', () => {
  const changing = routes.filter(({ method }) => method !== 'GET');

  test('refuses a page of another origin, and a page without the token of the session', async () => {
    const { email } = await world.makeOrganization();
    const { cookie, csrf } = await world.signIn(email);
    expect(changing.length).toBeGreaterThan(15);
    for (const { method, path, access } of changing) {
      const sent = (headers: Record<string, string>) =>
        send(world.url, { method, path: path.replace('{id}', 'x'), headers: { cookie, ...headers } }).then(codeOf);
      const elsewhere = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site', 'x-csrf-token': csrf };
      const withoutToken = access === 'everyone' ? 'csrf_refused' : await sent({ origin: world.url });
      expect([method, path, await sent(elsewhere), await sent({ 'x-csrf-token': csrf }), withoutToken]).toEqual([
        method,
        path,
        'csrf_refused',
        'csrf_refused',
        'csrf_refused',
      ]);
    }
    // None of them has signed the user out.
    expect(codeOf(await world.request('GET', '/api/session', { cookie }))).toBe('200');
  });
});

test('an id in a path that none of ours can be is refused', async () => {
  const { email } = await world.makeOrganization();
  const session = await world.signIn(email);
  const paths = routes.filter(({ path }) => path.includes('{id}'));
  expect(paths.length).toBeGreaterThan(2);
  const refusals = [
    ...['%00', 'ses_%00', 'x'.repeat(129), '%zz', '%ff', '%'].map((id) => [id, 'invalid_request']),
    ...['%20', '%2e%2e', 'ses_none'].map((id) => [id, 'not_found']),
  ];
  for (const { method, path } of paths) {
    for (const [id = '', refusal] of refusals)
      expect([path, id, codeOf(await world.request(method, path.replace('{id}', id), session))]).toEqual([path, id, refusal]);
  }
  expect(codeOf(await world.request('GET', '/api/session', session))).toBe('200');
});

describe('at every process of the portal', () => {
  let administrator: SignedIn;
  let member: SignedIn;
  let memberId: string;
  let memberEmail: string;
  const change = (changes: object) => world.request('PATCH', `/api/live/v1/users/${memberId}`, administrator, changes, first);

  beforeAll(async () => {
    const { email, organizationId } = await world.makeOrganization();
    memberEmail = `member-${email}`;
    administrator = await world.signIn(email, first);
    const user = { name: 'Member', email: memberEmail, role: 'member' };
    const created = await world.request('POST', '/api/live/v1/users', administrator, user, first);
    memberId = created.json<{ data: { id: string } }>().data.id;
    await world.operator.setUserPassword({ organizationId, userId: memberId, password });
    member = await world.signIn(memberEmail, second);
  });

  test('a new role counts without a new sign-in, and one with fewer rights from the next request on', async () => {
    expect(await rightsOf(member)).toEqual(twice('200', '200', 'insufficient_scope', 'admin_required'));
    expect((await change({ role: 'admin' })).status).toBe(200);
    // A right that is granted may wait for as long as a process keeps a session.
    await until('the member has the rights of an administrator', async () => (await rightsOf(member)).every((code) => code === '200'));
    expect((await change({ role: 'member' })).status).toBe(200);
    expect(await rightsOf(member)).toEqual(twice('200', '200', 'insufficient_scope', 'admin_required'));
  });

  test('a sign-out everywhere ends each session when it answers', async () => {
    const [here, elsewhere] = [await world.signIn(memberEmail, first), await world.signIn(memberEmail, second)];
    for (const session of [here, elsewhere]) expect((await rightsOf(session)).slice(0, 2)).toEqual(['200', '200']);
    expect((await world.request('DELETE', '/api/sessions', here, undefined, first)).status).toBe(204);
    for (const session of [here, elsewhere])
      expect(await rightsOf(session)).toEqual(twice('unauthorized', 'unauthorized', 'unauthorized', 'unauthorized'));
    expect((await rightsOf(administrator)).slice(0, 2)).toEqual(['200', '200']);
  });

  test('a deactivated user is signed out when the deactivation answers, and stays so', async () => {
    const session = await world.signIn(memberEmail, second);
    expect((await rightsOf(session)).slice(0, 2)).toEqual(['200', '200']);
    expect((await change({ status: 'deactivated' })).status).toBe(200);
    expect(await rightsOf(session)).toEqual(twice('unauthorized', 'unauthorized', 'unauthorized', 'unauthorized'));
    const attempt = await world.request('POST', '/api/session', {}, { email: memberEmail, password }, first);
    expect(codeOf(attempt)).toBe('invalid_credentials');
    expect((await change({ status: 'active' })).status).toBe(200);
    expect(await rightsOf(session)).toEqual(twice('unauthorized', 'unauthorized', 'unauthorized', 'unauthorized'));
  });
});
