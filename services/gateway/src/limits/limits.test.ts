import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createFailedAuthentications } from '@agent-service/http/limits/failed-authentications';
import { type Decision, type Limiter, limitHeaders, type Rule, retryAfterSeconds, windowMs } from '@agent-service/http/limits/limits';
import { applyLimits, type Counter, createLocalLimiter } from '@agent-service/http/limits/local-limiter';
import { clientAddress, countedAddress, parseTrustedProxies } from '@agent-service/http/requests/client-address';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createFallbackLimiter } from './fallback-limiter.ts';
import { createRedisLimiter } from './redis-limiter.ts';
import { createRules } from './rules.ts';

const rule = (key: string, limit: number): Rule => ({ key, policy: { name: key, limit } });

describe('fixed windows', () => {
  test('a window never admits more than its limit, and refuses no request that it has room for', () => {
    const steps = fc.array(fc.integer({ min: 0, max: windowMs / 2 }), { maxLength: 200 });
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 10 }), (pauses, own, shared) => {
        let counters: (Counter | undefined)[] = [undefined, undefined];
        let nowMs = 0;
        for (const pause of pauses) {
          nowMs += pause;
          const before = counters.map((counter) => (counter && counter.endsAtMs > nowMs ? counter.count : 0));
          const outcome = applyLimits(counters, [own, shared], nowMs);
          expect(outcome.allowed).toBe((before[0] as number) < own && (before[1] as number) < shared);
          const grown = outcome.allowed ? 1 : 0;
          expect(outcome.counters.map(({ count }) => count)).toEqual(before.map((count) => count + grown));
          for (const { endsAtMs } of outcome.counters) expect(endsAtMs).toBeGreaterThan(nowMs);
          counters = [...outcome.counters];
        }
      }),
    );
  });

  test('the window begins with its first request and ends 60 seconds later', () => {
    const first = applyLimits([undefined], [1], 1_000);
    expect(first).toEqual({ allowed: true, counters: [{ count: 1, endsAtMs: 61_000 }] });
    expect(applyLimits(first.counters, [1], 60_999).allowed).toBe(false);
    expect(applyLimits(first.counters, [1], 61_000).counters).toEqual([{ count: 1, endsAtMs: 121_000 }]);
  });
});

describe('the limiter of one process', () => {
  test('a request that one counter refuses is not counted by the other', async () => {
    const limiter = createLocalLimiter(() => 0);
    const rules = [rule('own', 1), rule('shared', 3)];
    await limiter.take(rules);
    for (let i = 0; i < 5; i++) expect((await limiter.take(rules)).allowed).toBe(false);
    const other = await limiter.take([rule('other', 9), rule('shared', 3)]);
    expect(other.states.map(({ count }) => count)).toEqual([1, 2]);
  });
});

describe('a counter that is only checked', () => {
  test('must have room and is left as it is, and its window begins with the first request that counts', async () => {
    let nowMs = 0;
    const limiter = createLocalLimiter(() => nowMs);
    const checked = { ...rule('issued', 1), onlyChecked: true };
    for (let i = 0; i < 3; i++) expect((await limiter.take([rule('claim', 9), checked])).allowed).toBe(true);
    nowMs = 30_000;
    expect((await limiter.take([rule('issued', 1)])).states[0]).toMatchObject({ count: 1, endsAtMs: 30_000 + windowMs });
    expect((await limiter.take([rule('claim', 9), checked])).allowed).toBe(false);
  });
});

describe('failed authentications', () => {
  const rulesOf = (address: string) => [rule(address, 3)];

  test('refuse what is new from an address that used its failures up, until its window ends', async () => {
    let nowMs = 0;
    const now = () => nowMs;
    const failures = createFailedAuthentications(createLocalLimiter(now), rulesOf, now);
    for (let i = 0; i < 2; i++) await failures.count('a');
    expect(failures.refusalOf(() => 'a')).toBeUndefined();
    await failures.count('a');
    nowMs = 20_000;
    expect(failures.refusalOf(() => 'a')).toMatchObject({ allowed: false, states: [{ endsAtMs: windowMs }] });
    expect(failures.refusalOf(() => 'b')).toBeUndefined();
    nowMs = windowMs;
    expect(failures.refusalOf(() => 'a')).toBeUndefined();
  });

  test('of any number of addresses are remembered within bounds', async () => {
    const failures = createFailedAuthentications(createLocalLimiter(), (address) => [rule(address, 1)]);
    for (let i = 0; i < 12_000; i++) await failures.count(`address-${i}`);
    const remembered = Array.from({ length: 12_000 }, (_, i) => failures.refusalOf(() => `address-${i}`)).filter(Boolean);
    expect(remembered).toHaveLength(10_000);
  });
});

describe('limits that outlast Redis', () => {
  const failing = (): Limiter & { calls: number } => ({
    calls: 0,
    async take() {
      this.calls += 1;
      throw new Error('away');
    },
  });

  test('continue from the last count that Redis gave', async () => {
    let decision: Decision | undefined = { allowed: true, states: [{ policy: { name: 'own', limit: 10 }, count: 9, endsAtMs: 500 }] };
    const shared: Limiter = {
      async take() {
        if (!decision) throw new Error('away');
        return decision;
      },
    };
    let nowMs = 0;
    const now = () => nowMs;
    const limiter = createFallbackLimiter({ shared, local: createLocalLimiter(now), now });
    const rules = [rule('own', 10)];
    await limiter.take(rules);
    decision = undefined;
    expect((await limiter.take(rules)).allowed).toBe(true);
    expect((await limiter.take(rules)).allowed).toBe(false);
    nowMs = 500;
    expect((await limiter.take(rules)).states[0]).toMatchObject({ count: 1, endsAtMs: 500 + windowMs });
  });

  test('skip a failing Redis for a while, then use it again', async () => {
    let nowMs = 0;
    const now = () => nowMs;
    const shared = failing();
    let fallbacks = 0;
    const failures: unknown[] = [];
    const observers = { onFallback: () => (fallbacks += 1), onFailure: (cause: unknown) => failures.push(cause) };
    const limiter = createFallbackLimiter({ shared, local: createLocalLimiter(now), now, ...observers });
    for (let i = 0; i < 10; i++) await limiter.take([rule('own', 100)]);
    expect(shared.calls).toBe(3);
    expect(fallbacks).toBe(10);
    expect(failures).toEqual([new Error('away')]);
    nowMs = 500;
    await limiter.take([rule('own', 100)]);
    await limiter.take([rule('own', 100)]);
    expect(shared.calls).toBe(4);
  });

  test('a success between failures keeps a Redis in use', async () => {
    let calls = 0;
    const shared: Limiter = {
      async take() {
        calls += 1;
        if (calls % 3 !== 0) throw new Error('away');
        return { allowed: true, states: [] };
      },
    };
    const limiter = createFallbackLimiter({ shared, local: createLocalLimiter(() => 0), now: () => 0 });
    for (let i = 0; i < 9; i++) await limiter.take([]);
    expect(calls).toBe(9);
  });
});

test('while Redis hangs, requests that waited for a call fail with it, and later ones call again', async () => {
  let nowMs = 0;
  let calls = 0;
  const take = async () => {
    calls += 1;
    nowMs += 250;
    throw new Error('away');
  };
  const limiter = createRedisLimiter({ take }, () => nowMs);
  const outcomes = await Promise.allSettled(Array.from({ length: 1_000 }, () => limiter.take([rule('{org_1}', 10)])));
  expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);
  expect(calls).toBe(1);
  nowMs += 1;
  await expect(limiter.take([rule('{org_1}', 10)])).rejects.toThrow('away');
  expect(calls).toBe(2);
});

test('organizations and addresses that are not active any more take little memory', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const limiter = createRedisLimiter({ take: (keys) => Promise.resolve(keys.flatMap(() => [1, 1, 1_000])) });
  const takeOf = (name: string) => limiter.take([rule(`{${name}}`, 300)]);
  await takeOf('failures:first');
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let index = 0; index < 10_000; index += 1) await takeOf(`failures:10.0.${index >> 8}.${index & 255}`);
  collectGarbage();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(15_000_000);
  await takeOf('failures:last');
});

describe('rules', () => {
  const rules = createRules({
    readsPerMinute: 600,
    writesPerMinute: 120,
    messagesPerMinute: 60,
    endUserMessagesPerMinute: 20,
    tokensPerMinute: 30,
    failedAuthenticationsPerMinute: 300,
  });
  const tag = (key: string) => /\{(.+?)\}/.exec(key)?.[1];

  test('the counters of one request live in one slot of a Redis cluster', () => {
    const principal = {
      organizationId: 'org_1',
      environment: 'live',
      userId: 'usr_1',
      credentialId: 'key_1',
      scopes: [],
      admin: false,
    } as const;
    for (const cost of ['read', 'write', 'message'] as const) {
      const keys = rules.forPrincipal(cost, principal).map(({ key }) => key);
      expect(keys.map(tag)).toEqual(['org_1', 'org_1']);
      expect(new Set(keys).size).toBe(2);
    }
    const claim = rules.forClaim('1.2.3.4', 'sa_live_secret').map(({ key }) => key);
    expect([claim.length, new Set(claim.map(tag)).size]).toEqual([2, 1]);
  });

  test('an organization has five times what a key has', () => {
    const principal = { organizationId: 'o', environment: 'test', userId: 'u', credentialId: 'k', scopes: [], admin: false } as const;
    expect(rules.forPrincipal('write', principal).map(({ policy }) => policy.limit)).toEqual([120, 600]);
  });

  test('each kind of request, credential and agent token has a counter of its own', () => {
    const principal = { organizationId: 'o', environment: 'test', userId: 'u', credentialId: 'k', scopes: [], admin: false } as const;
    const endUser = { ...principal, agentId: 'agt_1', tokenId: 'tok_1' };
    const all = [
      ...(['read', 'write', 'message'] as const).flatMap((cost) => rules.forPrincipal(cost, principal)),
      ...[{ ...principal, credentialId: 'other' }, endUser, { ...endUser, tokenId: 'tok_2' }].map(
        (each) => rules.forPrincipal('message', each)[0] as Rule,
      ),
    ];
    expect(new Set(all.map(({ key }) => key)).size).toBe(9);
    expect(rules.forPrincipal('message', endUser).map(({ policy }) => policy.limit)).toEqual([20, 300]);
    expect((['message', 'write'] as const).map((cost) => rules.forPrincipal(cost, endUser)[0]?.policy)).toEqual([
      { name: 'end-user-messages', limit: 20 },
      { name: 'end-user-writes', limit: 20 },
    ]);
  });

  test('wrong secrets of one address use up what no other address has, and only issued tokens count for the credential', () => {
    const [claim, issued] = rules.forClaim('1.2.3.4', 'secret');
    expect(rules.forClaim('5.6.7.8', 'secret')[0]?.key).not.toBe(claim?.key);
    expect(claim?.onlyChecked).toBeUndefined();
    expect(issued).toEqual({ ...rules.forIssuedToken('secret')[0], onlyChecked: true });
    expect(rules.forTokenRequest('1.2.3.4')[0]?.key).not.toBe(rules.forTokenRequest('5.6.7.8')[0]?.key);
    expect(rules.forFailedAuthentication('1.2.3.4')[0]?.key).not.toBe(rules.forFailedAuthentication('5.6.7.8')[0]?.key);
  });

  test('a counter is not named by a secret', () => {
    const all = [...rules.forClaim('1.2.3.4', 'sa_live_secret'), ...rules.forIssuedToken('sa_live_secret')];
    for (const { key } of all) expect(key).not.toContain('sa_live_secret');
  });
});

describe('headers', () => {
  const states = [
    { policy: { name: 'reads', limit: 600 }, count: 600, endsAtMs: 30_001 },
    { policy: { name: 'organization-reads', limit: 3000 }, count: 1200, endsAtMs: 59_000 },
  ];

  test('tell every limit, and the nearest in the older form', () => {
    const nearest = ['X-RateLimit-Limit', '600', 'X-RateLimit-Remaining', '0', 'X-RateLimit-Reset', '1031'];
    expect(limitHeaders({ allowed: false, states }, 1_000_000, 0)).toEqual([
      'RateLimit-Policy',
      '"reads";q=600;w=60, "organization-reads";q=3000;w=60',
      'RateLimit',
      '"reads";r=0;t=31, "organization-reads";r=1800;t=59',
      ...nearest,
    ]);
    expect(limitHeaders({ allowed: false, states: states.toReversed() }, 1_000_000, 0).slice(4)).toEqual(nearest);
  });

  test.each([
    ['Redis', (now: () => number) => createRedisLimiter({ take: async () => [1, 1, windowMs] }, now)],
    ['this process', (now: () => number) => createLocalLimiter(now)],
  ])('tell the time that is left when they are written, however long ago %s has counted', async (_name, limiterAt) => {
    let elapsedMs = 5_000;
    const decision = await limiterAt(() => elapsedMs).take([rule('messages', 1)]);
    elapsedMs += 40_000;
    const written = limitHeaders(decision, 1_000_000, elapsedMs);
    expect(written).toEqual(expect.arrayContaining(['"messages";r=0;t=20', 'X-RateLimit-Reset', '1020']));
    expect(retryAfterSeconds(decision, elapsedMs)).toBe(20);
    elapsedMs += 20_000;
    const later = limitHeaders(decision, 1_020_000, elapsedMs);
    expect(later).toEqual(expect.arrayContaining(['"messages";r=1;t=0', 'X-RateLimit-Remaining', '1', 'X-RateLimit-Reset', '1020']));
  });

  test('tell how long to wait', () => {
    expect(retryAfterSeconds({ allowed: false, states }, 0)).toBe(31);
    expect(retryAfterSeconds({ allowed: false, states: [] })).toBe(1);
  });
});

describe('the address of a client', () => {
  const trusted = parseTrustedProxies(['10.0.0.0/8', '192.168.1.1', 'fd00::/8']);

  test.each([
    ['only a trusted proxy is believed', '1.2.3.4', '9.9.9.9', '1.2.3.4'],
    ['behind one proxy', '10.1.2.3', '9.9.9.9', '9.9.9.9'],
    ['behind two', '10.1.2.3', '9.9.9.9, 192.168.1.1', '9.9.9.9'],
    ['what a client claims of itself is not reached', '10.1.2.3', '6.6.6.6, 9.9.9.9', '9.9.9.9'],
    ['over IPv6 sockets', '::ffff:10.1.2.3', '2001:db8::1', '2001:db8::1'],
    ['a proxy of IPv6', 'fd00::5', '9.9.9.9', '9.9.9.9'],
    ['a proxy that adds the port', '10.1.2.3', '9.9.9.9:51234', '9.9.9.9'],
    ['a proxy that adds the port to an address of IPv6', '10.1.2.3', '6.6.6.6, [2001:db8::1]:51234', '2001:db8::1'],
    ['a proxy behind one that adds the port', '10.1.2.3', '9.9.9.9, 192.168.1.1:51234', '9.9.9.9'],
    ['a port that is none', '10.1.2.3', '9.9.9.9:port', '10.1.2.3'],
    ['only proxies', '10.1.2.3', '10.4.5.6', '10.4.5.6'],
    ['nonsense', '10.1.2.3', 'unknown', '10.1.2.3'],
    ['no header', '10.1.2.3', undefined, '10.1.2.3'],
    ['no address any more', '', '9.9.9.9', ''],
  ])('%s', (_name, peer, forwardedFor, expected) => {
    expect(clientAddress(peer, forwardedFor, trusted)).toBe(expected);
  });

  test.each([
    ['1.2.3.4', '1.2.3.4'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['::FFFF:102:304', '1.2.3.4'],
    ['0:0:0:0:0:ffff:1.2.3.4', '1.2.3.4'],
    ['2001:db8:1:2::5', '20010db800010002/64'],
    ['2001:DB8:1:2:ffff:ffff:ffff:ffff', '20010db800010002/64'],
    ['2001:db8:1:3::5', '20010db800010003/64'],
    ['fe80::1%eth0', 'fe80000000000000/64'],
    ['', ''],
  ])('%s counts as %s', (peer, counted) => {
    expect(countedAddress(clientAddress(peer, undefined, trusted))).toBe(counted);
  });

  test.each(['nonsense', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', 'fd00::/129', ''])('%j is no proxy', (entry) => {
    expect(() => parseTrustedProxies([entry])).toThrow(RangeError);
  });
});
