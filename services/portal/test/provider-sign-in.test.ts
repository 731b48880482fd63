import { createClient, operatorService } from '@agent-service/contracts';
import {
  type IdTokenForge,
  type OpenIdProvider,
  openIdProvider,
  type ServiceProcess,
  send,
  serviceProcess,
  type TestDatabase,
  testDatabase,
} from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { cookieOf, type PortalWorld, sharePortalWorld } from './portal-world.ts';

const portalUrl = 'http://portal.example';
const account = { email: 'ada@portal.example', sub: 'account-1' };
let world: PortalWorld;
let provider: OpenIdProvider;
let database: TestDatabase;
let identity: ServiceProcess;
let url: string;
let closeOperator: (() => void) | undefined;
let makeOrganization: (name: string, email: string) => Promise<string>;

/** The identity of the shared system has no provider: the portal is in front of one with a provider. */
beforeAll(async () => {
  [world, provider, database] = await Promise.all([sharePortalWorld(), openIdProvider(), testDatabase()]);
  const settings = { OPENID_CONNECT_ISSUER: provider.issuer, OPENID_CONNECT_CLIENT_ID: provider.clientId };
  const { SERVICE_SECRET } = world.settings;
  identity = await serviceProcess('identity', {
    ...settings,
    SERVICE_SECRET,
    DATABASE_URL: database.url,
    KEY_HASH_SECRET: 'a key hash secret that is long enough for tests',
    CURSOR_SECRET: 'a cursor secret that is long enough for tests',
    ENCRYPTION_KEYS: `1:${Buffer.alloc(32, 7).toString('base64')}`,
  });
  await identity.start();
  url = await world.open(portalSettings());
  const operator = createClient('identity', {
    address: identity.address,
    as: operatorService,
    config: { SERVICE_SECRET: [SERVICE_SECRET] },
  });
  closeOperator = () => operator.close();
  makeOrganization = async (name, email) => (await operator.createOrganization({ name, email })).organizationId;
  await makeOrganization('Acme', account.email);
});
afterAll(async () => {
  closeOperator?.();
  await world?.stop();
  await identity?.stop();
  await Promise.all([provider?.stop(), database?.drop()]);
});

const portalSettings = () => ({
  OPENID_CONNECT_ISSUER: provider.issuer,
  OPENID_CONNECT_CLIENT_ID: provider.clientId,
  IDENTITY_ADDRESS: identity.address,
  PORTAL_URL: portalUrl,
  OPENID_CONNECT_CLIENT_SECRET: provider.clientSecret,
});

interface Attempt {
  readonly cookie: string;
  readonly searchParams: URLSearchParams;
}

/** Goes to the provider and comes back, as a browser does. */
async function begin(returnTo = '/live/agents', at = url): Promise<Attempt> {
  const start = await send(at, { method: 'GET', path: `/api/openid-connect/start?return_to=${encodeURIComponent(returnTo)}` });
  const target = new URL(start.headers.location ?? '');
  expect([start.status, target.origin, target.searchParams.get('code_challenge_method')]).toEqual([303, provider.issuer, 'S256']);
  const answer = await send(target.origin, { method: 'GET', path: target.pathname + target.search });
  const back = new URL(answer.headers.location ?? '');
  expect(back.origin + back.pathname).toBe(`${portalUrl}/api/openid-connect/callback`);
  return { cookie: cookieOf(start), searchParams: back.searchParams };
}

async function finish({ cookie, searchParams }: Attempt, at = url) {
  const path = `/api/openid-connect/callback?${searchParams}`;
  const reply = await send(at, { method: 'GET', path, headers: cookie ? { cookie } : {} });
  const session = cookieOf(reply);
  return { location: reply.headers.location, session: /^agent_service_portal=\w{43}$/.test(session) ? session : undefined };
}

const refused = (code: string) => ({ location: `/sign-in?error=${code}`, session: undefined });

test('opens a new session for the person of the token, and leads back to the page', async () => {
  provider.script(account);
  const { location, session = '' } = await finish(await begin());
  expect(location).toBe('/live/agents');
  const reply = await send(url, { method: 'GET', path: '/api/session', headers: { cookie: session } });
  expect(reply.json()).toMatchObject({ data: { user: { email: account.email }, features: { openid_connect: true } } });
});

test.each([[['client_secret_basic']], [['client_secret_post']], [['client_secret_post', 'client_secret_basic']], [undefined]])(
  'authenticates as the provider demands: %j',
  async (methods) => {
    provider.setAuthentication(methods);
    provider.script(account);
    // The description of a provider is read once.
    const another = await world.open(portalSettings());
    expect((await finish(await begin('/live/agents', another), another)).location).toBe('/live/agents');
  },
);

test('begins on the portal alone, and not on a page of another site', async () => {
  for (const [site, isBegun] of [
    ['none', true],
    ['same-origin', true],
    ['same-site', false],
    ['cross-site', false],
  ] as const) {
    const path = '/api/openid-connect/start?organization_id=org_of_the_page';
    const { headers } = await send(url, { method: 'GET', path, headers: { 'sec-fetch-site': site } });
    expect([site, headers.location?.startsWith(provider.issuer), headers['set-cookie'] !== undefined]).toEqual([site, isBegun, isBegun]);
  }
});

test('leads to no page of another origin', async () => {
  provider.script(account);
  for (const elsewhere of ['https://evil.example', '//evil.example', '/\\evil.example', 'javascript:alert(1)', '/a\r\nSet-Cookie: a=b'])
    expect([elsewhere, (await finish(await begin(elsewhere))).location]).toEqual([elsewhere, '/']);
});

test('leads to no page of another origin that the cookie names, either', async () => {
  provider.script(account);
  const attempt = await begin();
  const [name = '', value = ''] = attempt.cookie.split('=', 2);
  const content = JSON.parse(Buffer.from(value, 'base64url').toString()) as object;
  const planted = Buffer.from(JSON.stringify({ ...content, returnTo: 'https://evil.example' })).toString('base64url');
  expect((await finish({ ...attempt, cookie: `${name}=${planted}` })).location).toBe('/');
});

test('is for users that an organization has', async () => {
  provider.script({ email: 'stranger@portal.example', sub: 'account-2' });
  expect(await finish(await begin())).toEqual(refused('invalid_credentials'));
});

/** Each reason for which a token is refused has a test of identity: services/identity/test/provider-sign-in.test.ts. */
const forgeries: Readonly<Record<string, [IdTokenForge, string]>> = {
  'for another attempt': [(claims, { signed }) => signed({ ...claims, nonce: 'another' }), 'provider_refused'],
  'of another issuer': [(claims, { signed }) => signed({ ...claims, iss: 'https://evil.example' }), 'provider_refused'],
  'that is no token': [() => 'nonsense', 'provider_refused'],
  'signed by a stranger': [(claims, { signed, stranger }) => signed(claims, stranger), 'invalid_token'],
};

test.each(Object.entries(forgeries))('refuses a token %s', async (_, [forge, code]) => {
  provider.script(account, forge);
  expect(await finish(await begin())).toEqual(refused(code));
});

test('refuses an answer that belongs to no attempt of this browser, or was used', async () => {
  provider.script(account);
  const attempt = await begin();
  const spoiled = (name: string, value: string): Attempt => {
    const searchParams = new URLSearchParams(attempt.searchParams);
    searchParams.set(name, value);
    return { ...attempt, searchParams };
  };
  expect(await finish({ ...attempt, cookie: '' })).toEqual(refused('sign_in_expired'));
  expect(await finish(spoiled('state', 'another'))).toEqual(refused('provider_refused'));
  expect(await finish(spoiled('iss', 'https://evil.example'))).toEqual(refused('provider_refused'));
  expect(await finish(spoiled('code', 'guessed'))).toEqual(refused('provider_refused'));
  expect(await finish({ ...attempt, cookie: (await begin()).cookie })).toEqual(refused('provider_refused'));
  expect(await finish(attempt)).toMatchObject({ location: '/live/agents', session: expect.any(String) });
  expect(await finish(attempt)).toEqual(refused('provider_refused'));
});

test('asks the provider for an address that made up 300 answers no more, and says so on the sign-in page', async () => {
  // Counts of its own, in one minute.
  const portal = await world.open(portalSettings(), { now: () => 0 });
  const madeUp = { state: 'state', nonce: 'nonce', verifier: 'v'.repeat(43), returnTo: '/', organizationId: '' };
  const [name] = (await begin()).cookie.split('=', 1);
  const cookie = `${name}=${Buffer.from(JSON.stringify(madeUp)).toString('base64url')}`;
  const guess = () =>
    finish({ cookie, searchParams: new URLSearchParams({ code: 'guessed', state: 'state', iss: provider.issuer }) }, portal);
  const before = provider.exchanges();
  for (let n = 0; n < 300; n += 1) expect(await guess()).toEqual(refused('provider_refused'));
  expect(provider.exchanges() - before).toBe(300);
  for (let n = 0; n < 3; n += 1) expect(await guess()).toEqual(refused('rate_limited'));
  expect(provider.exchanges() - before).toBe(300);
});

describe('a person with users in several organizations', () => {
  const colleague = { email: 'lin@portal.example', sub: 'account-of-lin' };
  const choicePath = '/api/openid-connect/choice';
  let organizations: { id: string; name: string; is_linked: boolean }[];
  beforeAll(async () => {
    organizations = [];
    for (const name of ['Parcels', 'Letters'])
      organizations.push({ id: await makeOrganization(name, colleague.email), name, is_linked: false });
  });

  /** Signs in at the provider, and comes to the choice; resolves to the cookie that proves the sign-in. */
  async function comeToChoice(previous = ''): Promise<string> {
    provider.script(colleague);
    const attempt = await begin();
    const headers = { cookie: `${attempt.cookie}${previous && `; ${previous}`}` };
    const reply = await send(url, { method: 'GET', path: `/api/openid-connect/callback?${attempt.searchParams}`, headers });
    expect([reply.status, reply.headers.location, reply.headers['set-cookie']]).toEqual([
      303,
      '/choose-organization',
      [expect.stringMatching(/^agent_service_portal_sign_in=[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/)],
    ]);
    return cookieOf(reply);
  }

  const read = (cookie: string) => send(url, { method: 'GET', path: choicePath, headers: { cookie } });

  const choose = (cookie: string, id: string | undefined, headers: Record<string, string> = { origin: portalUrl }) =>
    send(url, {
      method: 'POST',
      path: choicePath,
      headers: { cookie, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ organization_id: id }),
    });

  const userOf = async (cookie: string) =>
    (await send(url, { method: 'GET', path: '/api/session', headers: { cookie } })).json<{ data?: { organization: { id: string } } }>()
      .data;

  test('chooses one, and gets the session of it, once', async () => {
    const cookie = await comeToChoice();
    expect(await userOf(cookie)).toBeUndefined();
    const offered = (await read(cookie)).json<{ data: { organizations: typeof organizations; return_to: string } }>().data;
    expect(offered.return_to).toBe('/live/agents');
    expect(offered.organizations.toSorted((a, b) => b.name.localeCompare(a.name))).toEqual(organizations);
    const selection = await choose(cookie, organizations[1]?.id);
    expect([selection.status, selection.headers['cache-control'], selection.headers['set-cookie']]).toEqual([
      201,
      'no-store',
      [expect.stringMatching(/^agent_service_portal=\w{43}; /), expect.stringMatching(/^agent_service_portal_sign_in=; .*Max-Age=0$/)],
    ]);
    expect(selection.json()).toMatchObject({ data: { csrf_token: expect.any(String), organization: { name: 'Letters' } } });
    expect(await userOf(cookieOf(selection))).toMatchObject({ organization: { id: organizations[1]?.id } });
    // The proof is used up, and so is the token of the provider.
    expect([(await choose(cookie, organizations[1]?.id)).status, (await read(cookie)).status]).toEqual([404, 404]);
  });

  test('ends the session that the browser had before with the choice, and not earlier', async () => {
    const before = cookieOf(await choose(await comeToChoice(), organizations[0]?.id));
    const cookie = await comeToChoice(before);
    expect(await userOf(before)).toBeDefined();
    await choose(`${cookie}; ${before}`, organizations[1]?.id);
    expect(await userOf(before)).toBeUndefined();
  });

  test('chooses in the browser of the sign-in alone, on a page of the portal', async () => {
    const cookie = await comeToChoice();
    const { cookie: ofAnAttempt } = await begin();
    for (const other of ['', ofAnAttempt, 'agent_service_portal_sign_in=AAAAAAAAAAAAAAAAAAAAAAAAAA'])
      expect([other, (await read(other)).status, (await choose(other, organizations[0]?.id)).status]).toEqual([other, 404, 404]);
    const refusals = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    for (const [name, value] of Object.entries(refusals)) {
      const reply = await choose(cookie, organizations[0]?.id, { [name]: value });
      expect([name, reply.status, reply.headers['set-cookie']]).toEqual([name, 403, undefined]);
    }
    const foreign = await makeOrganization('Elsewhere', 'another@portal.example');
    expect((await choose(cookie, foreign)).status).toBe(401);
    expect((await choose(cookie, undefined)).status).toBe(400);
    // A proof of a choice is no attempt that could be finished.
    expect(await finish({ cookie, searchParams: new URLSearchParams() })).toEqual(refused('sign_in_expired'));
    expect((await choose(cookie, organizations[0]?.id)).status).toBe(201);
  });
});

test('without a provider there is nothing to begin or to finish', async () => {
  for (const path of ['start', 'callback', 'choice'])
    expect((await send(world.url, { method: 'GET', path: `/api/openid-connect/${path}` })).status).toBe(404);
});
