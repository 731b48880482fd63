import { testRedis } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { everyRoute } from '../src/routes/index.ts';
import { admit, apiKey, caller, type Gateway, startGateway } from './support/gateway.ts';
import { type Answer, ask } from './support/http.ts';
import { type Peer, startPeer } from './support/peer.ts';

const token = apiKey('a');
const origin = 'https://app.example.com';

let peer: Peer;
let gateway: Gateway;
let closed: Gateway;

beforeAll(async () => {
  peer = await startPeer();
  admit(peer, { [token]: caller('a') });
  const { url } = await testRedis();
  gateway = await startGateway(peer, url, { CORS_ORIGINS: `${origin},http://localhost:3000` });
  closed = await startGateway(peer, url);
});

afterAll(async () => {
  await gateway.stop();
  await closed.stop();
  await peer.stop();
});

const preflight = (path: string, from: string, url = gateway.url) =>
  ask(url, path, { method: 'OPTIONS', headers: { origin: from, 'access-control-request-method': 'POST' } });

const corsHeaders = ({ headers }: Answer) => [...headers.keys()].filter((name) => name.startsWith('access-control-'));

describe('pages of a configured origin', () => {
  test.each([...new Set(everyRoute.map(({ path }) => path)), '/openapi.json'])('may ask before they call %s', async (path) => {
    const answer = await preflight(path, origin);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
    const allowed = answer.headers.get('access-control-allow-methods')?.split(', ');
    for (const route of everyRoute.filter((one) => one.path === path)) expect(allowed).toContain(route.method);
    // Every header that a route reads.
    const headers = answer.headers.get('access-control-allow-headers')?.split(', ') ?? [];
    for (const route of everyRoute) for (const name of Object.keys(route.headers?.shape ?? {})) expect(headers).toContain(name);
    expect(headers).toEqual(expect.arrayContaining(['Authorization', 'Content-Type', 'Idempotency-Key']));
    expect(answer.headers.get('vary')).toBe('Origin');
    // Cookies are no credentials here, so they are not allowed.
    expect(answer.headers.has('access-control-allow-credentials')).toBe(false);
  });

  test.each([
    ['an answer', '/v1/users', token, 200],
    ['a refusal', '/v1/users', 'wrong', 401],
    ['an unknown path', '/v1/none', token, 404],
    ['a wrong method', '/v1/me', token, 405],
  ])('may read %s, with its headers', async (_, path, sent, status) => {
    const method = status === 405 ? 'DELETE' : 'GET';
    const answer = await ask(gateway.url, path, { method, token: sent, headers: { origin } });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([status, origin]);
    const exposed = answer.headers.get('access-control-expose-headers')?.split(', ');
    expect(exposed).toEqual(expect.arrayContaining(['RateLimit', 'RateLimit-Policy', 'Retry-After', 'ETag', 'X-Request-Id']));
  });
});

test.each(['https://other.example.com', 'https://app.example.com.other.example', 'http://app.example.com', 'null'])(
  'pages of %s may neither ask nor read',
  async (other) => {
    const preflightReply = await preflight('/v1/users', other);
    expect([preflightReply.status, preflightReply.body.error.code, corsHeaders(preflightReply)]).toEqual([405, 'method_not_allowed', []]);
    expect(preflightReply.body.error.message).toContain('CORS_ORIGINS');
    const read = await ask(gateway.url, '/v1/users', { token, headers: { origin: other } });
    expect([read.status, corsHeaders(read), read.headers.get('vary')]).toEqual([200, [], 'Origin']);
  },
);

test('OPTIONS that is no preflight request is a method that the path does not have', async () => {
  const answer = await ask(gateway.url, '/v1/users', { method: 'OPTIONS', headers: { origin } });
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
});

test('without origins nothing is allowed, and no answer varies by origin', async () => {
  expect((await preflight('/v1/users', origin, closed.url)).status).toBe(405);
  const answer = await ask(closed.url, '/v1/users', { token, headers: { origin } });
  expect([corsHeaders(answer), answer.headers.get('vary')]).toEqual([[], null]);
});

describe('the OpenAPI document', () => {
  const read = (headers: Record<string, string>) => fetch(`${gateway.url}/openapi.json`, { headers });

  test('is compressed for callers that accept that', async () => {
    // fetch would decompress it.
    const plain = await ask(gateway.url, '/openapi.json');
    const zipped = await ask(gateway.url, '/openapi.json', { method: 'HEAD', headers: { 'accept-encoding': 'gzip' } });
    const refused = await ask(gateway.url, '/openapi.json', { method: 'HEAD', headers: { 'accept-encoding': 'gzip;q=0' } });
    expect(['content-encoding', 'vary'].map((name) => plain.headers.get(name))).toEqual([null, 'Origin, Accept-Encoding']);
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    expect(Number(zipped.headers.get('content-length')) * 5).toBeLessThan(plain.text.length);
    expect(refused.headers.get('content-encoding')).toBeNull();
    expect(await (await read({ 'accept-encoding': 'gzip' })).json()).toEqual(plain.body);
  });

  test('is not sent again to callers that have it', async () => {
    for (const encoding of ['gzip', 'identity']) {
      const etag = (await read({ 'accept-encoding': encoding })).headers.get('etag') ?? '';
      expect(etag).toMatch(/^"[\w-]{22}(-gzip)?"$/);
      const again = await ask(gateway.url, '/openapi.json', {
        headers: { 'accept-encoding': encoding, 'if-none-match': `"x", W/${etag}` },
      });
      expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', etag]);
      const other = await read({ 'accept-encoding': encoding, 'if-none-match': '"x"' });
      expect(other.status).toBe(200);
    }
  });
});
