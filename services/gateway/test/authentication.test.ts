import { testRedis } from '@agent-service/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { exampleOf } from '../src/openapi/document.ts';
import { everyRoute } from '../src/routes/index.ts';
import { expectError } from './support/envelope.ts';
import { admit, apiKey, caller, everyScope, type Gateway, startGateway } from './support/gateway.ts';
import { type Answer, ask } from './support/http.ts';
import { type Peer, startPeer } from './support/peer.ts';

let peer: Peer;
let gateway: Gateway;
let redisUrl: string;

beforeAll(async () => {
  peer = await startPeer();
  redisUrl = (await testRedis()).url;
  gateway = await startGateway(peer, redisUrl);
});

afterAll(async () => {
  await gateway.stop();
  await peer.stop();
});

const withHeader = (authorization: string) => ask(gateway.url, '/v1/users', { headers: { authorization } });

describe('tokens', () => {
  test('a missing token is refused', async () => {
    const answer = await ask(gateway.url, '/v1/users');
    expectError(answer, 401, 'missing_token');
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="agent-service"');
  });

  test('malformed, unknown, expired and revoked tokens are refused', async () => {
    const refusals: Record<string, string> = { [apiKey('r')]: 'token_revoked', 'e.e.e': 'token_expired', 'u.u.u': 'invalid_token' };
    peer.script.authenticate = async ({ tokens }) => ({
      results: tokens.map((token) => ({ refusal: refusals[token] ?? 'invalid_token' })),
    });
    expectError(await withHeader('Basic abc'), 401, 'missing_token');
    expectError(await withHeader('Bearer'), 401, 'invalid_token');
    expectError(await withHeader('Bearer a b'), 401, 'invalid_token');
    for (const [token, code] of Object.entries(refusals)) {
      const answer = await withHeader(`Bearer ${token}`);
      expectError(answer, 401, code);
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer realm="agent-service", error="invalid_token", error_description="/);
      expect(answer.headers.get('x-ratelimit-limit')).toBeNull();
    }
  });

  test('text that is no token is refused without a call to identity', async () => {
    let calls = 0;
    peer.script.authenticate = async ({ tokens }) => {
      calls += 1;
      return { results: tokens.map(() => ({ refusal: 'invalid_token' })) };
    };
    for (const token of ['sa_live_x', `${apiKey('g').slice(0, -1)}!`, 'x', 'sa_prod_abc'])
      expectError(await withHeader(`Bearer ${token}`), 401, 'invalid_token');
    expect(calls).toBe(0);
  });

  test('an API key or an access token is accepted, and the service receives its principal', async () => {
    const principal = caller('p', { scopes: ['users:read'], admin: false, role: 'member' });
    admit(peer, { [apiKey('p')]: principal, 'p.p.p': principal });
    const received: unknown[] = [];
    peer.script.listUsers = async (_request, call) => {
      received.push(call.principal, call.requestId);
      return { users: [], page: { total: 0, nextCursor: '' } };
    };
    for (const token of [apiKey('p'), 'p.p.p']) {
      const answer = await ask(gateway.url, '/v1/users', { token, headers: { 'x-request-id': 'my-id' } });
      expect(answer.body).toEqual({ data: [], meta: { total: 0, next_cursor: null, request_id: 'my-id' } });
    }
    expect(received).toEqual([principal, 'my-id', principal, 'my-id']);
  });
});

function expectUnderScoped(answer: Answer, required: string, granted: string): void {
  expectError(answer, 403, 'insufficient_scope');
  expect(answer.body.error.details).toEqual({ required: [required], granted: [granted] });
  expect(answer.headers.get('www-authenticate')).toContain(`error="insufficient_scope"`);
  expect(answer.headers.get('www-authenticate')).toContain(`scope="${required}"`);
}

describe('scopes', () => {
  test('each scope allows its own routes only, which is decided before any service is called', async () => {
    const scopes = ['none', ...new Set(everyRoute.flatMap(({ scope }) => scope ?? []))];
    const keys = Object.fromEntries(scopes.map((scope, index) => [scope, apiKey(index.toString(36))]));
    admit(peer, Object.fromEntries(scopes.map((scope) => [keys[scope] as string, caller(scope, { scopes: [scope], admin: false })])));
    const cases = everyRoute.filter(({ auth }) => auth === 'token').flatMap((route) => scopes.map((scope) => ({ route, scope })));
    for (const { route, scope } of cases) {
      const answer = await ask(gateway.url, route.path.replaceAll(/\{\w+\}/g, 'x'), {
        method: route.method,
        token: keys[scope] as string,
        ...(route.body && { json: exampleOf(route.body) }),
      });
      if (route.scope && scope !== route.scope) expectUnderScoped(answer, route.scope, scope);
      else if (route.admin) expectError(answer, 403, 'admin_required');
      else expect(answer.status).toBeLessThan(300);
    }
  });

  test('revoking a key needs the admin flag and no scope', async () => {
    admit(peer, { [apiKey('m')]: caller('m', { scopes: [] }), [apiKey('n')]: caller('n', { scopes: everyScope, admin: false }) });
    const path = '/v1/auth/keys/key_1';
    const answer = await ask(gateway.url, path, { method: 'DELETE', token: apiKey('m') });
    expect([answer.status, answer.text]).toEqual([204, '']);
    expectError(await ask(gateway.url, path, { method: 'DELETE', token: apiKey('n') }), 403, 'admin_required');
  });
});

describe('while services are unavailable', () => {
  let own: Gateway;

  beforeEach(async () => {
    admit(peer, { [apiKey('w')]: caller('w') });
    own = await startGateway(peer, redisUrl);
  });

  test('no new token is accepted: 503 with Retry-After, until identity is available again', async () => {
    await peer.stop();
    try {
      for (const token of [apiKey('w'), 'w.w.w']) {
        const answer = await ask(own.url, '/v1/users', { token });
        expectError(answer, 503, 'unavailable');
        expect(answer.headers.get('retry-after')).toBe('1');
      }
      const ready = await ask(own.url, '/readyz');
      expectError(ready, 503, 'unavailable');
      expect(Object.keys(ready.body.error.details.faults)).toEqual(['identity', 'credits', 'agents']);
      expect((await ask(own.url, '/livez')).status).toBe(200);
      expectError(await ask(own.url, '/v1/auth/token', { method: 'POST', json: { api_key: apiKey('w') } }), 503, 'unavailable');
    } finally {
      await peer.start();
    }
    let answer = await ask(own.url, '/v1/users', { token: apiKey('w') });
    while (answer.status === 503) answer = await ask(own.url, '/v1/users', { token: apiKey('w') });
    expect(answer.status).toBe(200);
    let ready = await ask(own.url, '/readyz');
    while (ready.status === 503) ready = await ask(own.url, '/readyz');
    expect(ready.body).toEqual({ status: 'ready' });
    await own.stop();
  });
});

test('a caller that is revoked while its body arrives is refused', async () => {
  let revoked = false;
  let calls = 0;
  peer.script.authenticate = async ({ tokens }) => {
    calls += 1;
    return { results: tokens.map(() => (revoked ? { refusal: 'token_revoked' } : { principal: { ...caller('s'), scopes: everyScope } })) };
  };
  let created = 0;
  peer.script.createUser = async () => {
    created += 1;
    return {};
  };
  const { request } = await import('node:http');
  const sending = request(`${gateway.url}/v1/users`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey('s')}`, 'content-type': 'application/json', 'content-length': '43' },
  });
  const status = new Promise((resolve) => sending.on('response', (response) => resolve(response.resume().statusCode)));
  sending.write('{"name":"Ada",');
  while (calls === 0) await new Promise(setImmediate);
  revoked = true;
  const over = performance.now() + 1_100;
  while (performance.now() < over) await ask(gateway.url, '/livez');
  sending.end('"email":"ada@example.com"   }');
  expect(await status).toBe(401);
  expect(created).toBe(0);
});
