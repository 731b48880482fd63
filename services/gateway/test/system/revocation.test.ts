import { generateKeyPairSync } from 'node:crypto';
import { type OwnRedis, ownRedis } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import jwt from 'jsonwebtoken';
import { keepBusy, startWorld, type World } from './world.ts';

let redis: OwnRedis;
let world: World;
beforeAll(async () => {
  redis = await ownRedis();
  world = await startWorld({
    REDIS_URL: redis.url,
    TOKEN_TTL_SECONDS: '300',
    REPLICAS: 'gateway=2 identity=2',
    RATE_LIMIT_FAILED_AUTHENTICATIONS_PER_MINUTE: String(guessesPerMinute),
  });
});
afterAll(async () => {
  await world.stop();
  await redis.stop();
});

/** More than the guesses of this file. */
const guessesPerMinute = 60;
const users = { method: 'GET', path: '/v1/users' };

/** The status and code of every gateway's response to a call with this token. */
const verdicts = (token: string) =>
  Promise.all(
    world.gateways.map(async (gateway) => {
      const answer = await world.call(token, users, gateway);
      return answer.status === 200 ? 200 : `${answer.status} ${answer.json<{ error: { code: string } }>().error.code}`;
    }),
  );

async function tokenOf(key: string): Promise<string> {
  const answer = await world.call(undefined, {
    method: 'POST',
    path: '/v1/auth/token',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ api_key: key }),
  });
  return answer.json<{ data: { access_token: string } }>().data.access_token;
}

/** Expects that the key and its token are accepted until the DELETE, and refused after its response. */
async function revokeUnderLoad(): Promise<void> {
  const { id, key } = await world.makeKey(world.ours, 'live');
  const token = await tokenOf(key);
  expect(await verdicts(key)).toEqual([200, 200]);
  expect(await verdicts(token)).toEqual([200, 200]);
  const rest = keepBusy(() => Promise.all([key, token].map(verdicts)));
  const answer = await world.call(world.ours.keys.live, { method: 'DELETE', path: `/v1/auth/keys/${id}` });
  const after = await Promise.all([verdicts(key), verdicts(token)]);
  await rest();
  expect(answer.status).toBe(204);
  expect(answer.text).toBe('');
  expect(after).toEqual([
    ['401 token_revoked', '401 token_revoked'],
    ['401 token_revoked', '401 token_revoked'],
  ]);
}

describe('revocation ends a key and its tokens at once on two gateways', () => {
  test('with Redis up', revokeUnderLoad);

  test('after FLUSHALL, which restores no access', async () => {
    const { id, key } = await world.makeKey(world.ours, 'live');
    await world.call(world.ours.keys.live, { method: 'DELETE', path: `/v1/auth/keys/${id}` });
    const client = new Redis(redis.url);
    await client.flushall();
    client.disconnect();
    expect(await verdicts(key)).toEqual(['401 token_revoked', '401 token_revoked']);
    await revokeUnderLoad();
  });

  test('with Redis stopped', async () => {
    await redis.stop();
    await revokeUnderLoad();
    await redis.start();
  });

  test('a second DELETE succeeds too, and waits as the first does', async () => {
    const { id, key } = await world.makeKey(world.ours, 'live');
    const remove = () => world.call(world.ours.keys.live, { method: 'DELETE', path: `/v1/auth/keys/${id}` });
    const rest = keepBusy(() => verdicts(key));
    const [first, second] = await Promise.all([remove(), remove()]);
    const after = await verdicts(key);
    await rest();
    expect([first.status, second.status]).toEqual([204, 204]);
    expect(after).toEqual(['401 token_revoked', '401 token_revoked']);
  });

  test('the tokens of an application end with the application', async () => {
    const application = await world.operator.createOauthClient({ organizationId: world.ours.id, environment: 'live' });
    const form = { grant_type: 'client_credentials', client_id: application.clientId, client_secret: application.clientSecret };
    const granted = await world.call(undefined, {
      method: 'POST',
      path: '/v1/auth/oauth/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form).toString(),
    });
    const { access_token: token } = granted.json<{ access_token: string }>();
    expect(await verdicts(token)).toEqual([200, 200]);
    await world.operator.revokeOauthClient({ clientId: application.clientId });
    expect(await verdicts(token)).toEqual(['401 token_revoked', '401 token_revoked']);
  });

  test('the keys of a deactivated user end with the response to the PATCH', async () => {
    const { user } = await world.inOrganization(world.ours, () =>
      world.operator.createUser({ name: 'Leaver', email: 'leaver@ours.example', role: 'member' }),
    );
    const issued = await world.operator.createKey({ organizationId: world.ours.id, userId: user?.id ?? '', environment: 'test' });
    const rest = keepBusy(() => verdicts(issued.apiKey));
    const answer = await world.call(world.ours.keys.live, {
      method: 'PATCH',
      path: `/v1/users/${user?.id}`,
      headers: { 'content-type': 'application/json' },
      body: '{"status":"deactivated"}',
    });
    const after = await verdicts(issued.apiKey);
    await rest();
    expect(answer.json<{ data: { status: string } }>().data.status).toBe('deactivated');
    expect(after).toEqual(['401 token_revoked', '401 token_revoked']);
  });
});

describe('a compromised signing key', () => {
  const kidOf = (token: string) => jwt.decode(token, { complete: true })?.header.kid ?? '';
  const publishedKids = () =>
    Promise.all(
      world.gateways.map(async (gateway) => {
        const answer = await world.call(undefined, { method: 'GET', path: '/.well-known/jwks.json' }, gateway);
        return answer.json<{ keys: { kid: string }[] }>().keys.map(({ kid }) => kid);
      }),
    );

  test('verifies no token on any gateway after its revocation, and a new key signs at once', async () => {
    const token = await tokenOf(world.ours.keys.live);
    const kid = kidOf(token);
    expect(await verdicts(token)).toEqual([200, 200]);
    for (const kids of await publishedKids()) expect(kids).toContain(kid);
    const rest = keepBusy(() => verdicts(token));
    const { signingKid } = await world.operator.revokeSigningKey({ kid });
    const after = await verdicts(token);
    const published = await publishedKids();
    await rest();
    expect(after).toEqual(['401 token_revoked', '401 token_revoked']);
    for (const kids of published) {
      expect(kids).not.toContain(kid);
      expect(kids).toContain(signingKid);
    }
    const next = await tokenOf(world.ours.keys.live);
    expect(kidOf(next)).toBe(signingKid);
    expect(await verdicts(next)).toEqual([200, 200]);
    expect(await verdicts(world.ours.keys.live)).toEqual([200, 200]);
    expect((await world.operator.revokeSigningKey({ kid })).signingKid).toBe(signingKid);
    await expect(world.operator.revokeSigningKey({ kid: 'unknown' })).rejects.toMatchObject({ code: 'not_found' });
  });

  test('locks no new token out, however often a program behind the same address goes on with an old one', async () => {
    const old = await tokenOf(world.ours.keys.live);
    await world.operator.revokeSigningKey({ kid: kidOf(old) });
    const refusals = new Set<unknown>();
    for (let i = 0; i <= guessesPerMinute; i++) for (const verdict of await verdicts(old)) refusals.add(verdict);
    expect([...refusals]).toEqual(['401 token_revoked']);
    expect(await verdicts(await tokenOf(world.ours.keys.live))).toEqual([200, 200]);
  });
});

describe('tokens of other issuers, audiences or environments', () => {
  test('are a 401 on every gateway, with the reason', async () => {
    const genuine = await tokenOf(world.ours.keys.live);
    const { header, payload } = jwt.decode(genuine, { complete: true }) as jwt.Jwt;
    const claims = payload as jwt.JwtPayload;
    const kid = header.kid ?? '';
    const [head, body, signature] = genuine.split('.');
    const own = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    const { keys } = (await world.call(undefined, { method: 'GET', path: '/.well-known/jwks.json' })).json<{ keys: { n: string }[] }>();
    const edited = (change: object) => Buffer.from(JSON.stringify({ ...claims, ...change })).toString('base64url');
    const forged = {
      unsigned: jwt.sign(claims, '', { algorithm: 'none', keyid: kid }),
      'signed with another key': jwt.sign(claims, own, { algorithm: 'RS256', keyid: kid }),
      'signed with the public key as a secret': jwt.sign(claims, keys[0]?.n ?? '', { algorithm: 'HS256', keyid: kid }),
      'of an unknown key': jwt.sign(claims, own, { algorithm: 'RS256', keyid: 'unknown' }),
      'moved to the other environment': [head, edited({ env: 'test' }), signature].join('.'),
      'with more scopes': [head, edited({ scope: 'everything' }), signature].join('.'),
      'without its signature': `${head}.${body}.`,
      'with a cut signature': genuine.slice(0, -4),
    };
    for (const [what, token] of Object.entries(forged))
      expect([what, await verdicts(token)]).toEqual([what, ['401 invalid_token', '401 invalid_token']]);
    expect(await verdicts(genuine)).toEqual([200, 200]);
  });

  test('a key with the other environment’s prefix is not a key', async () => {
    expect(await verdicts(world.ours.keys.live.replace('sa_live_', 'sa_test_'))).toEqual(['401 invalid_token', '401 invalid_token']);
  });
});
