import { ServiceError } from '@agent-service/contracts';
import { type Limiter, type Rule, retryAfterSeconds } from '@agent-service/http/limits/limits';
import { createLocalLimiter } from '@agent-service/http/limits/local-limiter';
import { openRedis } from '@agent-service/queues';
import { type OwnRedis, ownRedis, testRedisCluster } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { createLimiterRedis, createRedisLimiter } from '../src/limits/redis-limiter.ts';
import { expectError } from './support/envelope.ts';
import { admit, apiKey, caller, type Gateway, patientMs, startGateway } from './support/gateway.ts';
import { ask, sendRaw } from './support/http.ts';
import { type Peer, startPeer } from './support/peer.ts';

/** Redis may take as long as it needs, so that on a busy machine every request is counted there. */
const patient = { commandLimitMs: patientMs };

let peer: Peer;
let redis: OwnRedis;
let gateways: Gateway[];
let direct: Redis;

const limits = {
  RATE_LIMIT_READS_PER_MINUTE: '10',
  RATE_LIMIT_WRITES_PER_MINUTE: '4',
  RATE_LIMIT_TOKENS_PER_MINUTE: '5',
  RATE_LIMIT_FAILED_AUTHENTICATIONS_PER_MINUTE: '6',
  TRUSTED_PROXIES: '127.0.0.0/8',
};

beforeAll(async () => {
  redis = await ownRedis();
  direct = new Redis(redis.url);
  direct.on('error', () => undefined);
  peer = await startPeer();
  const callers = [...'abcdefghijklm'].map((letter) => {
    const organizationId = 'abcdef'.includes(letter) ? 'org_shared' : `org_${letter}`;
    return [apiKey(letter), caller(letter, { organizationId })];
  });
  admit(peer, { ...Object.fromEntries(callers), [apiKey('z')]: caller('z', { scopes: [] }) });
  gateways = await Promise.all([startGateway(peer, redis.url, limits), startGateway(peer, redis.url, limits)]);
});

afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  await peer.stop();
  direct.disconnect();
  await redis.stop();
});

beforeEach(async () => {
  await direct.flushall();
});

const url = (index: number) => (gateways[index % 2] as Gateway).url;
const statuses = async (count: number, work: (index: number) => Promise<{ status: number }>) =>
  (await Promise.all(Array.from({ length: count }, (_, index) => work(index)))).map(({ status }) => status);
const sum = (all: number[], status: number) => all.filter((one) => one === status).length;

describe('limits', () => {
  test('are exact over all gateways, by key', async () => {
    const all = await statuses(30, (index) => ask(url(index), '/v1/users', { token: apiKey('k') }));
    expect([sum(all, 200), sum(all, 429)]).toEqual([10, 20]);
  });

  test('are exact over all gateways, by organization', async () => {
    const all = await statuses(90, (index) => ask(url(index), '/v1/users', { token: apiKey('abcdef'.charAt(index % 6)) }));
    expect([sum(all, 200), sum(all, 429)]).toEqual([50, 40]);
  });

  test('reads and writes have separate counters, and every counted answer carries the state of its counter', async () => {
    const read = await ask(url(0), '/v1/users', { token: apiKey('g') });
    expect(read.headers.get('ratelimit-policy')).toBe('"reads";q=10;w=60, "organization-reads";q=50;w=60');
    expect(read.headers.get('ratelimit')).toBe('"reads";r=9;t=60, "organization-reads";r=49;t=60');
    expect([read.headers.get('x-ratelimit-limit'), read.headers.get('x-ratelimit-remaining')]).toEqual(['10', '9']);
    const resetsIn = Number(read.headers.get('x-ratelimit-reset')) - Date.now() / 1_000;
    expect(resetsIn).toBeGreaterThan(55);
    expect(resetsIn).toBeLessThan(62);
    const write = await ask(url(0), '/v1/users', { method: 'POST', token: apiKey('g'), json: {} });
    expectError(write, 400, 'invalid_request');
    expect(write.headers.get('x-ratelimit-remaining')).toBe('3');
  });

  test('a refusal has Retry-After and is not counted', async () => {
    for (let i = 0; i < 10; i++) await ask(url(0), '/v1/users', { token: apiKey('h') });
    for (let i = 0; i < 5; i++) {
      const answer = await ask(url(0), '/v1/users', { token: apiKey('h') });
      expectError(answer, 429, 'rate_limited');
      expect(answer.headers.get('x-ratelimit-remaining')).toBe('0');
      expect(answer.headers.get('ratelimit')).toContain('"organization-reads";r=40;');
      const wait = Number(answer.headers.get('retry-after'));
      expect(wait).toBeGreaterThan(50);
      expect(wait).toBeLessThanOrEqual(60);
    }
  });

  test('a request without the required scope is counted too', async () => {
    const answer = await ask(url(0), '/v1/users', { token: apiKey('z') });
    expectError(answer, 403, 'insufficient_scope');
    expect(answer.headers.get('x-ratelimit-remaining')).toBe('9');
  });
});

describe('token endpoints', () => {
  const issue = (index: number, letter: string, address: string) =>
    ask(url(index), '/v1/auth/token', { method: 'POST', json: { api_key: apiKey(letter) }, headers: { 'x-forwarded-for': address } });

  test('are counted by credential from all addresses', async () => {
    const all = await statuses(12, (index) => issue(index, 'a', `9.9.9.${index}`));
    expect([sum(all, 200), sum(all, 429)]).toEqual([5, 7]);
  });

  test('are counted by address for all credentials, and for malformed bodies', async () => {
    const bad = () =>
      ask(url(0), '/v1/auth/token', {
        method: 'POST',
        body: '{',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': '9.9.9.9' },
      });
    expectError(await bad(), 400, 'invalid_json');
    expectError(await bad(), 400, 'invalid_json');
    const all = await statuses(9, (index) => issue(index, 'abcdefghi'.charAt(index), '9.9.9.9'));
    expect([sum(all, 200), sum(all, 429)]).toEqual([3, 6]);
    expectError(await bad(), 429, 'rate_limited');
  });

  const secretOf = 'the-right-secret';
  const oauth = (index: number, secret: string, address: string) =>
    ask(url(index), '/v1/auth/oauth/token', {
      method: 'POST',
      body: `grant_type=client_credentials&client_id=app_shared&client_secret=${secret}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-forwarded-for': address },
    });

  test('wrong secrets from other addresses do not lock an application out', async () => {
    peer.script.issueClientToken = async ({ clientSecret }) => {
      if (clientSecret !== secretOf) throw new ServiceError('invalid_client');
      return { accessToken: 'a.b.c', expiresIn: 3600, scope: 'users:read' };
    };
    const guesses = await statuses(30, (index) => oauth(index, `guess-${index}`, '6.6.6.6'));
    expect([sum(guesses, 401), sum(guesses, 429)]).toEqual([5, 25]);
    expect((await oauth(0, secretOf, '9.9.9.9')).status).toBe(200);
    // Nor do wrong secrets from many addresses.
    await statuses(30, (index) => oauth(index, `guess-${index}`, `6.6.7.${index}`));
    expect((await oauth(1, secretOf, '9.9.9.9')).status).toBe(200);
    expect((await oauth(0, secretOf, '6.6.6.6')).status).toBe(429);
  });

  test('all addresses of an IPv6 subscriber count as one, and an IPv4-mapped one as its IPv4 address', async () => {
    const sixes = await statuses(10, (index) => issue(index, 'abcdefghij'.charAt(index), `2001:db8:7:7::${index + 1}`));
    expect([sum(sixes, 200), sum(sixes, 429)]).toEqual([5, 5]);
    expect((await issue(0, 'k', '2001:db8:7:8::1')).status).toBe(200);
    for (const letter of 'abcde') expect((await issue(0, letter, '7.7.7.7')).status).toBe(200);
    expect((await issue(1, 'f', '::ffff:7.7.7.7')).status).toBe(429);
    expect((await issue(1, 'g', '::ffff:707:707')).status).toBe(429);
  });

  test('the body of a refused address is not read', async () => {
    for (let i = 0; i < 5; i++) await issue(0, 'abcde'.charAt(i), '5.5.5.5');
    const head = 'POST /v1/auth/token HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 5.5.5.5\r\nContent-Type: application/json\r\n';
    // Content-Length announces a body that is never sent.
    const raw = await sendRaw((gateways[0] as Gateway).port, `${head}Connection: close\r\nContent-Length: 8000\r\n\r\n{`);
    expect(raw).toMatch(/^HTTP\/1.1 429 /);
  });

  test('answer 429 in their own form', async () => {
    peer.script.issueClientToken = async () => ({ accessToken: 'a.b.c', expiresIn: 3600, scope: 'users:read' });
    const tooMany = () =>
      ask(url(0), '/v1/auth/oauth/token', {
        method: 'POST',
        body: 'grant_type=client_credentials&client_id=app_1&client_secret=x',
        headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-forwarded-for': '8.8.8.8' },
      });
    for (let i = 0; i < 5; i++) expect((await tooMany()).status).toBe(200);
    const refused = await tooMany();
    expect(refused.status).toBe(429);
    expect(refused.body.error).toBe('temporarily_unavailable');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50);
  });
});

describe('failed authentications', () => {
  const from = (index: number, token: string, address: string) =>
    ask(url(index), '/v1/users', { token, headers: { 'x-forwarded-for': address } });

  test('are limited by address over all gateways; known callers and other addresses are not affected', async () => {
    expect((await from(0, apiKey('k'), '4.4.4.4')).status).toBe(200);
    const failed = [];
    for (let i = 0; i < 12; i++) failed.push(await from(i, i % 2 === 0 ? apiKey('0') : 'garbage', '4.4.4.4'));
    // Each gateway reads the shared counter at its own next failure.
    expect(failed.map(({ status }) => status).slice(0, 6)).toEqual(Array(6).fill(401));
    expect(failed.map(({ status }) => status).slice(8)).toEqual(Array(4).fill(429));
    const refused = await from(0, apiKey('1'), '4.4.4.4');
    expectError(refused, 429, 'rate_limited');
    expect(refused.headers.get('ratelimit-policy')).toBe('"failed-authentications";q=6;w=60');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50);
    expect((await from(0, apiKey('k'), '4.4.4.4')).status).toBe(200);
    expect((await from(0, apiKey('1'), '4.4.4.5')).status).toBe(401);
  });

  test('are not counted where the credential has expired or was revoked: other callers behind the address are let in', async () => {
    const authenticate = peer.script.authenticate as NonNullable<typeof peer.script.authenticate>;
    peer.script.authenticate = async ({ tokens }) => ({
      results: tokens.map((token) => ({ refusal: token === 'e.e.e' ? 'token_expired' : 'token_revoked' })),
    });
    const refused = [];
    for (let i = 0; i < 12; i++) refused.push(await from(i, i % 4 < 2 ? 'e.e.e' : apiKey('y'), '5.5.5.5'));
    peer.script.authenticate = authenticate;
    expect(new Set(refused.map(({ status, body }) => `${status} ${body.error.code}`))).toEqual(
      new Set(['401 token_expired', '401 token_revoked']),
    );
    expect((await from(0, apiKey('l'), '5.5.5.5')).status).toBe(200);
  });

  test('are not counted where no credential was sent', async () => {
    for (let i = 0; i < 12; i++) expect((await ask(url(0), '/v1/users', { headers: { 'x-forwarded-for': '3.3.3.3' } })).status).toBe(401);
    expect((await from(0, apiKey('2'), '3.3.3.3')).status).toBe(401);
  });
});

test('Redis counts exactly as the pure rule does', async () => {
  const shared = await openLimiter(redis.url, 'single');
  let run = 0;
  const requests = fc.array(fc.tuple(fc.nat(2), fc.nat(2), fc.boolean()), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(requests, fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 6 }), async (pairs, own, organization) => {
      run += 1;
      const local: Limiter = createLocalLimiter(() => 0);
      const rule = (name: string, limit: number): Rule => ({ key: `limit:{${run}}:${name}`, policy: { name, limit } });
      const all = pairs.map(([first, second, onlyChecked]) => [
        rule(`own-${first}`, own),
        { ...rule(`organization-${second}`, organization), onlyChecked },
      ]);
      const there = await Promise.all(all.map((rules) => shared.take(rules)));
      for (const [index, rules] of all.entries()) {
        const here = await local.take(rules);
        expect(there[index]?.allowed).toBe(here.allowed);
        expect(there[index]?.states.map(({ count }) => count)).toEqual(here.states.map(({ count }) => count));
      }
    }),
    { numRuns: 30 },
  );
});

test('a counter whose window outlasts a minute, because the clock of Redis was put back, begins again', async () => {
  const shared = await openLimiter(redis.url, 'single');
  const rules: Rule[] = [{ key: 'limit:{back}:own', policy: { name: 'own', limit: 2 } }];
  for (let i = 0; i < 2; i++) await shared.take(rules);
  expect((await shared.take(rules)).allowed).toBe(false);
  await direct.pexpire('limit:{back}:own', 3_600_000);
  const [first, second, third] = [await shared.take(rules), await shared.take(rules), await shared.take(rules)];
  expect([first.allowed, second.allowed, third.allowed]).toEqual([true, true, false]);
  expect(retryAfterSeconds(third)).toBeLessThanOrEqual(60);
  expect(await direct.pttl('limit:{back}:own')).toBeLessThanOrEqual(60_000);
});

test('in a cluster each organization is counted on the node that has its slot', async () => {
  const cluster = await testRedisCluster();
  const shared = await openLimiter(cluster.url, 'cluster');
  const rules = (organization: number): Rule[] => [
    { key: `limit:{org_${organization}}:read:key`, policy: { name: 'own', limit: 3 } },
    { key: `limit:{org_${organization}}:read`, policy: { name: 'organization', limit: 100 } },
  ];
  const decisions = Array.from({ length: 200 }, (_, index) => shared.take(rules(index % 40)));
  const allowed = (await Promise.all(decisions)).filter((decision) => decision.allowed);
  expect(allowed).toHaveLength(40 * 3);
  await cluster.stop();
});

describe('while Redis hangs', () => {
  const hang = () => direct.call('CLIENT', 'PAUSE', patientMs, 'ALL');
  afterEach(async () => {
    await redis.stop();
    await startRedis();
  });

  test('requests are limited and answered', async () => {
    const own = await startGateway(peer, redis.url, limits, { giveUpRedis: true });
    await ask(own.url, '/v1/users', { token: apiKey('l') });
    await hang();
    const answers = [];
    for (let i = 0; i < 12; i++) answers.push(await ask(own.url, '/v1/users', { token: apiKey('l') }));
    expect(answers.map(({ status }) => status)).toEqual([...Array(9).fill(200), ...Array(3).fill(429)]);
    await own.stop();
  });

  test('a count fails after its limit', async () => {
    const shared = await openLimiter(redis.url, 'single', 1);
    await hang();
    await expect(shared.take([{ key: 'limit:{l}', policy: { name: 'own', limit: 1 } }])).rejects.toThrow('Redis took too long to count');
  });
});

test('without Redis each gateway continues from its last known count; when Redis is back they share one count again', async () => {
  for (let i = 0; i < 4; i++) await ask(url(0), '/v1/users', { token: apiKey('m') });
  await redis.stop();
  const away = [];
  for (let i = 0; i < 10; i++) away.push(await ask(url(0), '/v1/users', { token: apiKey('m') }));
  expect(away.map(({ status }) => status)).toEqual([...Array(6).fill(200), ...Array(4).fill(429)]);
  expect(away.at(-1)?.headers.get('x-ratelimit-limit')).toBe('10');
  expect((await ask(url(0), '/readyz')).status).toBe(200);

  await startRedis();
  const back = await statuses(30, (index) => ask(url(index), '/v1/users', { token: apiKey('j') }));
  expect([sum(back, 200), sum(back, 429)]).toEqual([10, 20]);
});

async function openLimiter(url: string, mode: 'single' | 'cluster', limitMs = patientMs): Promise<Limiter> {
  const { process } = gateways[0] as Gateway;
  return createRedisLimiter(createLimiterRedis(await openRedis(process, { REDIS_URL: url, REDIS_MODE: mode }, patient), limitMs));
}

/** Resolves when both gateways count in Redis again. */
async function startRedis(): Promise<void> {
  await redis.start();
  for (const [index, letter] of ['h', 'i'].entries()) await untilCounted(index, letter);
}

/** Sends requests to this gateway until Redis has counted one of them. */
async function untilCounted(index: number, letter: string): Promise<void> {
  const key = `limit:{org_${letter}}:read:key_${letter}`;
  while ((await direct.get(key).catch(() => null)) === null) await ask(url(index), '/v1/users', { token: apiKey(letter) });
}
