import type { Principal } from '@agent-service/contracts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type BootedService, boot } from './boot.ts';

let identity: BootedService;
let parent: Principal;

const authenticate = async (token: string, agentTokens = true) =>
  (await identity.gateway.authenticate({ tokens: [token], agentTokens })).results[0];
const issue = (principal: Principal, expiresIn = 60) =>
  identity.as(principal, () => identity.gateway.issueAgentToken({ agentId: 'agt_1', expiresIn }));

beforeAll(async () => {
  identity = await boot();
  const { liveApiKey } = await identity.operator.createOrganization({ name: 'Acme' });
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
