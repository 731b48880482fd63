import { makeApiKey, type Principal, ServiceError } from '@agent-service/contracts';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Verdict } from './authenticator.ts';
import { createAuthenticator } from './authenticator.ts';

const key = (letter: string) => makeApiKey('live', letter.repeat(32));
const principal = (credentialId: string): Principal => ({
  organizationId: 'org_1',
  environment: 'live',
  userId: 'usr_1',
  credentialId,
  scopes: ['users:read'],
  admin: false,
});

let nowMs = 0;
/** The clock advances by so much each time that it is read. */
let advanceMs = 0;
let requests: string[][] = [];
let verdicts: Record<string, Verdict> = {};
let answer: () => Promise<void> = async () => undefined;

const open = () =>
  createAuthenticator({
    ask: async (tokens) => {
      requests.push([...tokens]);
      const answers = tokens.map((token) => verdicts[token] ?? { refusal: 'invalid_token' as const });
      await answer();
      return answers;
    },
    now: () => (nowMs += advanceMs),
  });

beforeEach(() => {
  nowMs = 0;
  advanceMs = 0;
  requests = [];
  verdicts = {};
  answer = async () => undefined;
});

describe('a kept verdict', () => {
  test('lasts one second from before the question, and the principal object stays the same', async () => {
    verdicts[key('a')] = { principal: principal('key_a'), endsAt: Number.POSITIVE_INFINITY };
    const authenticator = open();
    const first = await authenticator.authenticate(key('a'));
    nowMs = 999;
    expect(await authenticator.authenticate(key('a'))).toBe(first);
    expect(requests).toHaveLength(1);
    nowMs = 1_000;
    verdicts[key('a')] = { principal: principal('key_a'), endsAt: Number.POSITIVE_INFINITY };
    expect(await authenticator.authenticate(key('a'))).toBe(first);
    expect(requests).toHaveLength(2);
  });

  test('a request in the moment in which the verdict ends is served', async () => {
    verdicts[key('a')] = { principal: principal('key_a'), endsAt: Number.POSITIVE_INFINITY };
    const authenticator = open();
    await authenticator.authenticate(key('a'));
    nowMs = 999;
    advanceMs = 0.6;
    expect(await authenticator.authenticate(key('a'))).toMatchObject({ credentialId: 'key_a' });
  });

  test('counts the time the answer took', async () => {
    verdicts[key('a')] = { principal: principal('key_a'), endsAt: Number.POSITIVE_INFINITY };
    answer = async () => void (nowMs += 600);
    const authenticator = open();
    await authenticator.authenticate(key('a'));
    nowMs += 399;
    await authenticator.authenticate(key('a'));
    expect(requests).toHaveLength(1);
    nowMs += 1;
    await authenticator.authenticate(key('a'));
    expect(requests).toHaveLength(2);
  });

  test('an answer that took longer than a verdict is kept is requested again, and is never used', async () => {
    verdicts[key('a')] = { principal: principal('key_a'), endsAt: Number.POSITIVE_INFINITY };
    answer = async () => void (nowMs += 1_000);
    const authenticator = open();
    await expect(authenticator.authenticate(key('a'))).rejects.toMatchObject({ code: 'unavailable' });
    expect(requests).toHaveLength(3);
    answer = async () => void (nowMs += 1);
    expect(await authenticator.authenticate(key('a'))).toMatchObject({ credentialId: 'key_a' });
  });

  test('a revocation is seen when the verdict has ended', async () => {
    verdicts[key('a')] = { principal: principal('key_a'), endsAt: Number.POSITIVE_INFINITY };
    const authenticator = open();
    await authenticator.authenticate(key('a'));
    verdicts[key('a')] = { refusal: 'token_revoked' };
    nowMs = 1_000;
    await expect(authenticator.authenticate(key('a'))).rejects.toMatchObject({ code: 'token_revoked' });
  });

  test('a refusal is kept as long as an acceptance', async () => {
    const authenticator = open();
    for (let i = 0; i < 3; i++) await expect(authenticator.authenticate(key('a'))).rejects.toMatchObject({ code: 'invalid_token' });
    expect(requests).toHaveLength(1);
  });

  test('changed rights make a new principal', async () => {
    verdicts[key('a')] = { principal: principal('key_a'), endsAt: Number.POSITIVE_INFINITY };
    const authenticator = open();
    await authenticator.authenticate(key('a'));
    verdicts[key('a')] = { principal: { ...principal('key_a'), scopes: [] }, endsAt: Number.POSITIVE_INFINITY };
    nowMs = 1_000;
    expect((await authenticator.authenticate(key('a'))).scopes).toEqual([]);
  });

  const full: Principal = {
    ...principal('key_a'),
    admin: true,
    role: 'admin',
    agentId: 'agt_1',
    tokenId: 'tok_1',
    tokenEndsAt: '9',
    tokenIssuedAt: '1',
    tokenKid: 'kid_1',
  };
  test.each<Partial<Principal>>([
    { credentialId: 'key_b' },
    { organizationId: 'org_2' },
    { environment: 'test' },
    { userId: 'usr_2' },
    { scopes: ['users:read', 'users:write'] },
    { scopes: ['users:write'] },
    { scopes: [] },
    { admin: false },
    { role: 'member' },
    { agentId: 'agt_2' },
    { tokenId: 'tok_2' },
    { tokenEndsAt: '8' },
    { tokenIssuedAt: '2' },
    { tokenKid: 'kid_2' },
  ])('is replaced by one with another principal: %j', async (change) => {
    verdicts[key('a')] = { principal: full, endsAt: Number.POSITIVE_INFINITY };
    const authenticator = open();
    await authenticator.authenticate(key('a'));
    verdicts[key('a')] = { principal: { ...full, ...change }, endsAt: Number.POSITIVE_INFINITY };
    nowMs = 1_000;
    expect(await authenticator.authenticate(key('a'))).toEqual({ ...full, ...change });
  });
});

test('a token that has come to its end is refused while its verdict is kept', async () => {
  verdicts['a.b.c'] = { principal: principal('key_a'), endsAt: 500 };
  const authenticator = open();
  await authenticator.authenticate('a.b.c');
  nowMs = 500;
  await expect(authenticator.authenticate('a.b.c')).rejects.toMatchObject({ code: 'token_expired' });
  expect(requests).toHaveLength(1);
});

test('a token is known while the last verdict on it is good, also after that verdict has ended', async () => {
  verdicts[key('a')] = { principal: principal('key_a'), endsAt: Number.POSITIVE_INFINITY };
  const authenticator = open();
  expect(authenticator.knows(key('a'))).toBe(false);
  await authenticator.authenticate(key('a'));
  nowMs = 1_000;
  expect(authenticator.knows(key('a'))).toBe(true);
  verdicts[key('a')] = { refusal: 'token_revoked' };
  await expect(authenticator.authenticate(key('a'))).rejects.toMatchObject({ code: 'token_revoked' });
  expect(authenticator.knows(key('a'))).toBe(false);
});

test('concurrent tokens share one call, and each token is sent once', async () => {
  for (const letter of 'abc') verdicts[key(letter)] = { principal: principal(letter), endsAt: Number.POSITIVE_INFINITY };
  const authenticator = open();
  const tokens = ['a', 'b', 'a', 'c', 'a'].map(key);
  const principals = await Promise.all(tokens.map((token) => authenticator.authenticate(token)));
  expect(principals.map(({ credentialId }) => credentialId)).toEqual(['a', 'b', 'a', 'c', 'a']);
  expect(requests).toEqual([['a', 'b', 'c'].map(key)]);
});

test('a text that cannot be a token is refused without a call', async () => {
  const authenticator = open();
  for (const token of ['x', `${key('a').slice(0, -1)}_`, 'sa_live_short', 'a.b', 'a.b.c.d', 'a..c']) {
    await expect(authenticator.authenticate(token)).rejects.toMatchObject({ code: 'invalid_token' });
  }
  expect(requests).toEqual([]);
});

test('after a timeout another replica of identity is called; after a refusal none is', async () => {
  verdicts[key('a')] = { principal: principal('key_a'), endsAt: Number.POSITIVE_INFINITY };
  answer = async () => {
    if (requests.length < 3) throw new ServiceError('deadline_exceeded');
  };
  expect((await open().authenticate(key('a'))).credentialId).toBe('key_a');
  expect(requests).toHaveLength(3);
  answer = async () => Promise.reject(new ServiceError('deadline_exceeded'));
  requests = [];
  await expect(open().authenticate(key('a'))).rejects.toMatchObject({ code: 'deadline_exceeded' });
  expect(requests).toHaveLength(3);
  answer = async () => Promise.reject(new ServiceError('unavailable'));
  requests = [];
  await expect(open().authenticate(key('a'))).rejects.toMatchObject({ code: 'unavailable' });
  expect(requests).toHaveLength(1);
});

test('while identity is away a kept verdict is still used, and then every request is unavailable', async () => {
  verdicts[key('a')] = { principal: principal('key_a'), endsAt: Number.POSITIVE_INFINITY };
  const authenticator = open();
  await authenticator.authenticate(key('a'));
  answer = async () => {
    throw Object.assign(new Error('away'), { code: 'unavailable' });
  };
  nowMs = 999;
  await authenticator.authenticate(key('a'));
  nowMs = 1_000;
  await expect(authenticator.authenticate(key('a'))).rejects.toMatchObject({ code: 'unavailable' });
  answer = async () => undefined;
  await authenticator.authenticate(key('a'));
});
