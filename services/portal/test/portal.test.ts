import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort } from '@agent-service/local/host/ports';
import { machineEnvironment, mainFileOf, send, testFolder, until } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { routes } from '../src/routes/index.ts';
import { cookieOf, outcome, type PortalWorld, password, sharePortalWorld } from './portal-world.ts';

let world: PortalWorld;
beforeAll(async () => {
  world = await sharePortalWorld();
});
afterAll(() => world?.stop());

test('the documentation is under /docs/ where the portal has it; elsewhere a page there says how to get it', async () => {
  const folder = await testFolder();
  const missing = await send(await world.open({ PORTAL_DOCS_DIR: folder }), { method: 'GET', path: '/docs/guides/a' });
  expect([missing.status, missing.headers['content-type'], missing.text]).toEqual([
    404,
    'text/html; charset=utf-8',
    expect.stringContaining('npm run docs:site'),
  ]);
  mkdirSync(join(folder, 'guides'));
  for (const path of ['index.html', '404.html', 'guides/a.html']) writeFileSync(join(folder, path), `<title>${path}</title>`);
  const at = await world.open({ PORTAL_DOCS_DIR: folder });
  const ask = async (path: string) => {
    const { status, text } = await send(at, { method: 'GET', path });
    return [status, text];
  };
  expect(await ask('/docs/')).toEqual([200, '<title>index.html</title>']);
  expect(await ask('/docs/guides/a')).toEqual([200, '<title>guides/a.html</title>']);
  expect(await ask('/docs/guides/b')).toEqual([404, '<title>404.html</title>']);
});

describe('the cookie of a session', () => {
  test('is for this host and for requests alone, and over https for encrypted connections only', async () => {
    const { email } = await world.makeOrganization();
    const plain = await world.request('POST', '/api/session', {}, { email, password });
    expect(plain.headers['set-cookie']).toEqual([expect.stringMatching(/^agent_service_portal=\w{43}; Path=\/; HttpOnly; SameSite=Lax$/)]);
    const secure = await world.open({ PORTAL_URL: 'https://portal.example' });
    const headers = { origin: 'https://portal.example', 'content-type': 'application/json' };
    const reply = await send(secure, { method: 'POST', path: '/api/session', headers, body: JSON.stringify({ email, password }) });
    expect(reply.headers['set-cookie']).toEqual([
      expect.stringMatching(/^__Host-agent_service_portal=\w{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/),
    ]);
    // A cookie without the prefix, as a page of another host could set it, means nothing there.
    expect(outcome(await send(secure, { method: 'GET', path: '/api/session', headers: { cookie: cookieOf(plain) } }))).toBe(
      '401 unauthorized',
    );
  });

  test('is a new one after each sign-in: a token that was there before is worth nothing', async () => {
    const { email } = await world.makeOrganization();
    const planted = `agent_service_portal=${'A'.repeat(43)}`;
    const first = await world.request('POST', '/api/session', { cookie: planted }, { email, password });
    expect(cookieOf(first)).not.toBe(planted);
    expect(outcome(await world.request('GET', '/api/session', { cookie: planted }))).toBe('401 unauthorized');
    const second = await world.request('POST', '/api/session', { cookie: cookieOf(first) }, { email, password });
    expect(outcome(await world.request('GET', '/api/session', { cookie: cookieOf(first) }))).toBe('401 unauthorized');
    const session = await world.request('GET', '/api/session', { cookie: cookieOf(second) });
    // With its token it must stay in no cache.
    expect([outcome(session), session.headers['cache-control']]).toEqual(['200', 'no-store']);
    expect([second.headers['cache-control'], (await world.request('GET', '/api/session')).headers['cache-control']]).toEqual([
      'no-store',
      'no-store',
    ]);
  });

  test('is forgotten by a sign-out, also where there is no session', async () => {
    const { email } = await world.makeOrganization();
    const signedIn = await world.signIn(email);
    const reply = await world.request('DELETE', '/api/session', signedIn);
    expect([reply.status, reply.headers['set-cookie']?.[0]]).toEqual([204, expect.stringContaining('Max-Age=0')]);
    expect(outcome(await world.request('GET', '/api/session', signedIn))).toBe('401 unauthorized');
    expect((await world.request('DELETE', '/api/session', signedIn)).status).toBe(204);
    const [here, elsewhere] = [await world.signIn(email), await world.signIn(email)];
    expect((await world.request('DELETE', '/api/sessions', here)).status).toBe(204);
    for (const each of [here, elsewhere]) expect(outcome(await world.request('GET', '/api/session', each))).toBe('401 unauthorized');
  });
});

test('sign-ins are counted by their outcome', async () => {
  const { email } = await world.makeOrganization();
  await world.signIn(email);
  expect(outcome(await world.request('POST', '/api/session', {}, { email, password: 'not the password' }))).toBe('401 invalid_credentials');
  const counted = await world.signIns();
  for (const result of ['success', 'invalid_credentials'])
    expect(counted).toMatch(new RegExp(`portal_sign_ins_total\\{.*method="password".*outcome="${result}".*\\} [1-9]`));
});

describe('a request that changes something', () => {
  test('needs the token of its session and an origin of the portal', async () => {
    const { email } = await world.makeOrganization();
    const [mine, other] = [await world.signIn(email), await world.signIn(email)];
    const sent = (headers: Record<string, string>, path = '/api/two-factor') =>
      send(world.url, {
        method: 'POST',
        path,
        headers: { cookie: mine.cookie, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ password }),
      }).then(outcome);
    const own = { origin: world.url, 'x-csrf-token': mine.csrf };
    for (const [headers, expected] of [
      [own, '200'],
      [{ ...own, 'sec-fetch-site': 'same-origin' }, '200'],
      [{ 'sec-fetch-site': 'same-origin', 'x-csrf-token': mine.csrf }, '200'],
      [{ origin: world.url }, '403 csrf_refused'],
      [{ ...own, 'x-csrf-token': other.csrf }, '403 csrf_refused'],
      [{ ...own, 'x-csrf-token': 'x'.repeat(43) }, '403 csrf_refused'],
      [{ 'x-csrf-token': mine.csrf }, '403 csrf_refused'],
      [{ ...own, origin: 'https://evil.example' }, '403 csrf_refused'],
      [{ ...own, origin: 'null' }, '403 csrf_refused'],
      [{ ...own, 'sec-fetch-site': 'cross-site' }, '403 csrf_refused'],
      [{ ...own, 'sec-fetch-site': 'same-site' }, '403 csrf_refused'],
      [{ ...own, origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' }, '403 csrf_refused'],
    ] as const)
      expect([headers, await sent(headers)]).toEqual([headers, expected]);
    world.gateway.script((_request, response) => response.writeHead(204).end());
    expect(await sent(own, '/api/live/v1/agents')).toBe('204');
    expect(await sent({ origin: world.url }, '/api/live/v1/agents')).toBe('403 csrf_refused');
  });

  test('is not a sign-in from a page of another origin', async () => {
    const { email } = await world.makeOrganization();
    const headers = { origin: 'https://evil.example', 'content-type': 'application/json' };
    const sent = { method: 'POST', path: '/api/session', headers, body: JSON.stringify({ email, password }) };
    expect(outcome(await send(world.url, sent))).toBe('403 csrf_refused');
  });
});

describe('a forwarded request', () => {
  test('carries a token of the user and the listed headers, and its reply sets no cookie', async () => {
    const { email } = await world.makeOrganization();
    const signedIn = await world.signIn(email);
    world.gateway.script((_request, response) => {
      const headers = { 'content-type': 'application/json', 'set-cookie': 'a=b', etag: '"1"', 'x-powered-by': 'x', server: 'y' };
      response.writeHead(200, headers).end('{"data":1}');
    });
    const headers = {
      cookie: signedIn.cookie,
      authorization: 'Bearer of-the-page',
      accept: 'application/json',
      'if-none-match': '"0"',
      'x-forwarded-for': '1.2.3.4',
      connection: 'keep-alive, x-secret',
      'x-secret': 'hop by hop',
      prefer: 'respond-async',
    };
    const reply = await send(world.url, { method: 'GET', path: '/api/test/v1/agents?limit=1&x=%2F', headers });
    expect([reply.status, reply.text, reply.headers.etag]).toEqual([200, '{"data":1}', '"1"']);
    for (const name of ['set-cookie', 'x-powered-by', 'server']) expect(reply.headers[name]).toBeUndefined();
    expect(reply.headers['content-security-policy']).toContain("default-src 'none'");
    const received = world.gateway.requests.at(-1);
    expect(received?.url).toBe('/v1/agents?limit=1&x=%2F');
    expect(Object.keys(received?.headers ?? {}).sort()).toEqual([
      'accept',
      'authorization',
      'connection',
      'host',
      'if-none-match',
      'x-request-id',
    ]);
    const claims = JSON.parse(Buffer.from((received?.headers.authorization ?? '').split('.')[1] ?? '', 'base64url').toString());
    expect(claims).toMatchObject({ env: 'test', admin: true });
    expect(claims.exp - claims.iat).toBeLessThanOrEqual(300);
  });

  test.each([
    '/api/live/v1/../../metrics',
    '/api/live/v1/%2e%2e/readyz',
    '/api/live/v1/%2E%2E%2Freadyz',
    '/api/live/v1/a%2f..%2fb',
    '/api/live/v1/a%5c..%5cb',
    '/api/live/v1/%00',
    '/api/live/v1/%zz',
    '/api/live/v1/a\\b',
  ])('does not leave /v1 by %s', async (path) => {
    const { email } = await world.makeOrganization();
    const { cookie } = await world.signIn(email);
    const before = world.gateway.requests.length;
    expect(outcome(await send(world.url, { method: 'GET', path, headers: { cookie } }))).toBe('400 invalid_request');
    expect(world.gateway.requests.length).toBe(before);
  });

  test('cannot hide another request in its body', async () => {
    const { email } = await world.makeOrganization();
    const { cookie, csrf } = await world.signIn(email);
    world.gateway.script((request, response) => {
      request.resume();
      response.writeHead(204).end();
    });
    const before = world.gateway.requests.length;
    const hidden = 'GET /v1/audit HTTP/1.1\r\nHost: x\r\n\r\n';
    const sent = (headers: Record<string, string>) =>
      send(world.url, {
        method: 'POST',
        path: '/api/live/v1/agents',
        body: hidden,
        headers: { cookie, origin: world.url, 'x-csrf-token': csrf, ...headers },
      });
    expect((await sent({})).status).toBe(204);
    expect((await sent({ 'transfer-encoding': 'gzip, chunked', 'content-length': '' }).catch(() => ({ status: 400 }))).status).toBe(400);
    expect(world.gateway.requests.length).toBe(before + 1);
    expect(world.gateway.requests.at(-1)?.headers['content-length']).toBe(String(hidden.length));
  });

  test('streams each event as it comes, and ends at the gateway when the browser goes away', async () => {
    const { email } = await world.makeOrganization();
    const { cookie } = await world.signIn(email);
    const ended = Promise.withResolvers<void>();
    world.gateway.script((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' }).write('event: started\n\n');
      response.on('close', () => ended.resolve());
    });
    const call = get(`${world.url}/api/live/v1/agents/a/messages`, { headers: { cookie, accept: 'text/event-stream' } });
    const [response] = (await once(call, 'response')) as [NodeJS.ReadableStream & { headers: Record<string, string> }];
    // A proxy in front of the portal must not collect the events either.
    expect([response.headers['content-type'], response.headers['x-accel-buffering']]).toEqual(['text/event-stream', 'no']);
    const [first] = (await once(response, 'data')) as [Buffer];
    expect(first.toString()).toBe('event: started\n\n');
    response.on('error', () => undefined);
    call.on('error', () => undefined);
    call.destroy();
    await ended.promise;
  });

  test('is answered with 503 while no gateway can be reached, and with 401 where the gateway refuses the token', async () => {
    const { email } = await world.makeOrganization();
    const away = await world.open({ GATEWAY_URL: `http://127.0.0.1:${await freePort()}` });
    const signedIn = await world.signIn(email, away);
    const reply = await world.request('GET', '/api/live/v1/agents', signedIn, undefined, away);
    expect([outcome(reply), reply.headers['retry-after']]).toEqual(['503 unavailable', '1']);
    world.gateway.script((_request, response) => response.writeHead(401, { 'content-type': 'application/json' }).end('{}'));
    const before = world.gateway.requests.length;
    expect(outcome(await world.request('GET', '/api/live/v1/agents', await world.signIn(email)))).toBe('401 unauthorized');
    expect(world.gateway.requests).toHaveLength(before + 2);
  });

  test('is repeated with another token after one that the gateway refuses, as when the key that signed it was revoked', async () => {
    const { email } = await world.makeOrganization();
    const signedIn = await world.signIn(email);
    world.gateway.script((_request, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
    expect(outcome(await world.request('GET', '/api/live/v1/agents', signedIn))).toBe('200');
    const revoked = world.gateway.requests.at(-1)?.headers['authorization'];
    const bodies: string[] = [];
    const answer = async (request: IncomingMessage, response: ServerResponse) => {
      bodies.push(await text(request));
      const status = request.headers['authorization'] === revoked ? 401 : 201;
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    };
    world.gateway.script((request, response) => void answer(request, response));
    expect(outcome(await world.request('POST', '/api/live/v1/agents', signedIn, { name: 'Repeated' }))).toBe('201');
    expect(bodies).toEqual(Array(2).fill('{"name":"Repeated"}'));
  });
});

test('a member reaches no route of administrators, and without a session there is nothing but public routes', async () => {
  const { email } = await world.makeOrganization();
  const administrator = await world.signIn(email);
  const member = `member-${email}`;
  const invited = await world.request('POST', '/api/invitations', administrator, { email: member, role: 'member' });
  const link = new URL(invited.json<{ data: { link: string } }>().data.link);
  expect(link.origin).toBe(world.url);
  const token = link.searchParams.get('token') ?? '';
  const lookup = await world.request('GET', `/api/invitations/lookup?token=${token}`);
  expect(lookup.json()).toMatchObject({ data: { email: member, organization: { name: 'Portal' } } });
  const accepted = await world.request('POST', '/api/invitations/accept', {}, { token, name: 'Member', password });
  expect(outcome(accepted)).toBe('201');
  const { csrf_token: csrf } = accepted.json<{ data: { csrf_token: string } }>().data;
  const signedIn = { cookie: cookieOf(accepted), csrf };
  const restricted = routes.filter(({ access }) => access !== 'everyone');
  expect(restricted.filter(({ access }) => access === 'administrator')).toHaveLength(12);
  for (const { method, path, access } of restricted) {
    const real = path.replace('{id}', 'x');
    expect([real, outcome(await world.request(method, real, {}, {}))]).toEqual([real, '401 unauthorized']);
    if (access !== 'administrator') continue;
    expect([real, outcome(await world.request(method, real, signedIn, {}))]).toEqual([real, '403 admin_required']);
  }
});

interface Operation {
  readonly security?: readonly { readonly bearer?: readonly string[] }[];
  readonly 'x-role'?: string;
}

test('a member is refused by every operation of the public API that needs an administrator', async () => {
  const at = await world.open({ GATEWAY_URL: world.system.url });
  const { email, organizationId, userId } = await world.makeOrganization();
  const administrator = await world.signIn(email, at);
  const created = await world.request('POST', '/api/live/v1/users', administrator, { name: 'M', email: `m-${email}`, role: 'member' }, at);
  const memberId = created.json<{ data: { id: string } }>().data.id;
  await world.operator.setUserPassword({ organizationId, userId: memberId, password });
  const member = await world.signIn(`m-${email}`, at);
  const document = (await (await fetch(`${world.system.url}/openapi.json`)).json()) as { paths: Record<string, Record<string, Operation>> };
  const mays = ['agents:read', 'agents:write', 'agents:chat', 'templates:read', 'credits:read'];
  const refused: string[] = [];
  for (const [path, operations] of Object.entries(document.paths))
    for (const [method, { security = [], 'x-role': role }] of Object.entries(operations)) {
      const scopes = security.flatMap((each) => Object.values(each).flat());
      const needs = scopes.filter((scope) => !mays.includes(scope));
      if (role !== 'admin') {
        expect([`${method} ${path}`, needs]).toEqual([`${method} ${path}`, []]);
        continue;
      }
      const reply = await world.request(
        method.toUpperCase(),
        `/api/live${path.replaceAll(/\{\w+\}/g, userId)}`,
        member,
        method === 'get' ? undefined : {},
        at,
      );
      refused.push(`${method} ${path}`);
      expect([`${method} ${path}`, outcome(reply)]).toEqual([
        `${method} ${path}`,
        // Those without a scope of their own, as for keys and applications, need the flag of an administrator.
        needs.length > 0 ? '403 insufficient_scope' : '403 admin_required',
      ]);
    }
  expect(refused.length).toBeGreaterThan(10);
  expect(refused).toEqual(expect.arrayContaining(['post /v1/keys', 'post /v1/oauth-applications']));
});

test('pages are served with a strict policy, compressed, from the built files alone', async () => {
  const folder = await testFolder();
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>Portal</title>');
  writeFileSync(join(folder, 'assets', 'app-1a2b.js'), 'start();');
  writeFileSync(join(folder, 'assets', 'app-1a2b.js.br'), 'as if compressed');
  const at = await world.open({ PORTAL_PAGES_DIR: folder });
  const ask = (path: string, headers = {}) => send(at, { method: 'GET', path, headers });
  const index = await ask('/live/agents/agt_1?x=1');
  expect([index.status, index.text, index.headers['cache-control']]).toEqual([200, '<!doctype html><title>Portal</title>', 'no-cache']);
  const policy = String(index.headers['content-security-policy']).split(';');
  for (const directive of [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ])
    expect(policy).toContain(directive);
  expect(String(policy)).not.toContain('unsafe');
  expect(index.headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'x-dns-prefetch-control': 'off',
  });
  const asset = await ask('/assets/app-1a2b.js', { 'accept-encoding': 'gzip, br' });
  expect([asset.text, asset.headers['content-encoding'], asset.headers['cache-control']]).toEqual([
    'as if compressed',
    'br',
    'public, max-age=31536000, immutable',
  ]);
  const zipped = await fetch(`${at}/`, { headers: { 'accept-encoding': 'gzip' } });
  expect([zipped.headers.get('content-encoding'), await zipped.text()]).toEqual(['gzip', '<!doctype html><title>Portal</title>']);
  expect((await ask('/', { 'if-none-match': String(index.headers.etag) })).status).toBe(304);
  expect((await ask('/assets/other.js')).status).toBe(404);
  expect((await ask('/../package.json')).text).toContain('<title>Portal</title>');
  expect((await ask('/api/unknown')).status).toBe(404);
});

test('logs hold no password, token or cookie', async () => {
  const { email } = await world.makeOrganization();
  const port = await freePort();
  const main = mainFileOf('portal', 'services/portal/src/main.ts');
  const env = { ...machineEnvironment, ...world.settings, LOG_LEVEL: 'trace', PORTAL_PORT: String(port) };
  const child: ChildProcess = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => void (output += chunk));
  try {
    const at = `http://127.0.0.1:${port}`;
    await until('the portal listens', async () => (await fetch(`${at}/api/status`)).ok);
    const signedIn = await world.signIn(email, at);
    world.gateway.script((_request, response) => response.writeHead(204).end());
    await world.request('GET', '/api/live/v1/agents?secret=in-the-query', signedIn, undefined, at);
    await world.request('GET', '/api/invitations/lookup?token=in-the-query', signedIn, undefined, at);
    await world.request('POST', '/api/session', {}, { email, password: 'a wrong password' }, at);
    const apiToken = world.gateway.requests.at(-1)?.headers.authorization?.slice('Bearer '.length) ?? '';
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
    expect(output).toContain('"route":"/api/session"');
    for (const secret of [password, 'a wrong password', signedIn.cookie.split('=')[1] ?? '', signedIn.csrf, apiToken, 'in-the-query'])
      expect([secret.length > 5, output.includes(secret)]).toEqual([true, false]);
  } finally {
    child.kill('SIGKILL');
  }
});
