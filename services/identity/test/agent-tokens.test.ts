import type { Principal } from '@agent-service/contracts';
import { withDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Claims } from '../src/domain/tokens.ts';
import { signToken } from '../src/rpc/tokens.ts';

import { type BootedService, boot } from './boot.ts';

let identity: BootedService;
let organizationId: string;
let liveApiKey: string;
let parent: Principal;

const authenticate = async (token: string, agentTokens = true) =>
  (await identity.gateway.authenticate({ tokens: [token], agentTokens })).results[0];
const issue = (principal: Principal, expiresIn = 60) =>
  identity.as(principal, () => identity.gateway.issueAgentToken({ agentId: 'agt_1', expiresIn }));

beforeAll(async () => {
  identity = await boot();
  ({ organizationId, liveApiKey } = await identity.operator.createOrganization({ name: 'Acme' }));
  parent = (await authenticate(liveApiKey))?.principal as Principal;
});
afterAll(() => identity?.stop());

test('an agent token has its agent, the scope to chat and no other right of its credential', async () => {
  const { accessToken } = await issue(parent);
  const { principal } = (await authenticate(accessToken)) ?? {};
  expect(principal).toMatchObject({ agentId: 'agt_1', scopes: ['agents:chat'], admin: false, credentialId: parent.credentialId });
  expect(principal?.tokenId).not.toBe('');
});

test('a gateway that does not know agent tokens is told that they are not valid', async () => {
  const { accessToken } = await issue(parent);
  expect((await authenticate(accessToken, false))?.refusal).toBe('invalid_token');
  // An identity that does not know them finds no claim for the credential.
  const claims = JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString());
  expect(claims).toMatchObject({ aud: 'agent:agt_1', scope: 'agents:chat', parent_key_id: parent.credentialId });
  expect(claims).not.toHaveProperty('key_id');
});

test('an agent token makes no token and reads nothing', async () => {
  const { principal } = (await authenticate((await issue(parent)).accessToken)) ?? {};
  const bound = principal as Principal;
  await expect(issue(bound)).rejects.toMatchObject({ code: 'wrong_audience' });
  await expect(identity.as(bound, () => identity.gateway.getSelf({}))).rejects.toMatchObject({ code: 'wrong_audience' });
});

test('it never outlives a token that ends before it', async () => {
  const endsIn = (seconds: number): Principal => ({ ...parent, tokenEndsAt: String(Math.floor(Date.now() / 1_000) + seconds) });
  await expect(issue(endsIn(30), 60)).rejects.toMatchObject({ code: 'invalid_request', param: 'expires_in' });
  expect((await issue(endsIn(30), 0)).expiresIn).toBeLessThanOrEqual(30);
  await expect(issue(endsIn(-5), 0)).rejects.toMatchObject({ code: 'invalid_request' });
});

test('it ends with its parent token and with a rotation also if its signature had to wait', async () => {
  const now = Math.floor(Date.now() / 1_000);
  const signed: Claims[] = [];
  const signingKeys = { issuer: 'us', sign: async (claims: Claims) => String(signed.push(claims)) } as never;
  const bearer = { id: 'key_1', organizationId, environment: 'live', userId: 'usr_1', scopes: [], admin: false, agentId: 'agt_1' } as const;
  const sign = (endsAt: number) =>
    signToken({ signingKeys, tokenTtlSeconds: 60 }, { ...bearer, scopes: [], ttlSeconds: 60, provenAt: (now - 5) * 1_000, endsAt });
  expect((await sign(now + 30)).expiresIn).toBeLessThanOrEqual(30);
  // Its time is that of the proof: a rotation which committed while it waited ends it as well.
  expect(signed[0]).toMatchObject({ iat: now - 5, exp: now + 30 });
  await expect(sign(now)).rejects.toMatchObject({ code: 'token_expired' });
});

describe('a token that was made with a token is refused once that is', () => {
  const principalOf = async (token: string) => (await authenticate(token))?.principal as Principal;
  const refusalOf = async (token: string) => (await authenticate(token))?.refusal;
  /** The header or the claims of a token. */
  const partOf = (token: string, index: 0 | 1): Record<string, unknown> =>
    JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString());

  test('because its signing key was revoked', async () => {
    const { accessToken } = await identity.gateway.issueToken({ apiKey: liveApiKey });
    const bearer = await principalOf(accessToken);
    const { kid } = await identity.operator.rotateSigningKey({});
    const { accessToken: ofToken } = await issue(bearer);
    const { accessToken: ofKey } = await issue(parent);
    for (const each of [accessToken, ofToken, ofKey]) expect(await refusalOf(each)).toBeUndefined();
    expect(partOf(ofToken, 0)['kid']).toBe(kid);
    await identity.operator.revokeSigningKey({ kid: String(partOf(accessToken, 0)['kid']) });
    expect([await refusalOf(accessToken), await refusalOf(ofToken), await refusalOf(ofKey)]).toEqual([
      'token_revoked',
      'token_revoked',
      undefined,
    ]);
  });

  test('because the secret of its application was rotated, also if it is made afterwards', async () => {
    const { clientId, clientSecret } = await identity.operator.createOauthClient({ organizationId, environment: 'live' });
    const { accessToken } = await identity.gateway.issueClientToken({ clientId, clientSecret });
    const bearer = await principalOf(accessToken);
    const issuedAt = Number(partOf(accessToken, 1)['iat']);
    expect(bearer).toMatchObject({ tokenIssuedAt: String(issuedAt), tokenKid: partOf(accessToken, 0)['kid'] });
    // As if a gateway had authenticated a token of ten minutes ago before the rotation, and not again since.
    const earlier = { ...bearer, tokenIssuedAt: String(issuedAt - 600) };
    const { accessToken: derived } = await issue(earlier);
    expect(await refusalOf(derived)).toBeUndefined();
    await withDatabase(identity.url, async (database) => {
      await database.query('set search_path = identity');
      await database.query('update oauth_clients set tokens_since = to_timestamp($1) where id = $2', [issuedAt - 300, clientId]);
    });
    expect(await refusalOf(derived)).toBe('token_revoked');
    await expect(issue(earlier)).rejects.toMatchObject({ code: 'token_revoked' });
    expect(await refusalOf((await issue(bearer)).accessToken)).toBeUndefined();
  });
});
