import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type BootedService, boot } from './boot.ts';

let identity: BootedService;

beforeAll(async () => {
  identity = await boot();
});
afterAll(() => identity?.stop());

test('an operator is refused credentials beyond the role of the user or the environment', async () => {
  const { organizationId, userId, liveApiKey } = await identity.operator.createOrganization({ name: 'Acme' });
  const { results } = await identity.gateway.authenticate({ tokens: [liveApiKey] });
  const admin = results[0]?.principal as Parameters<BootedService['as']>[0];
  const request = { name: 'Member', email: 'member@acme.example', role: 'member' };
  const { user } = await identity.as(admin, () => identity.gateway.createUser(request));
  const ofMember = { organizationId, userId: user?.id ?? '', environment: 'live' };
  const ofTest = { organizationId, userId, environment: 'test' };
  const { createKey, createOauthClient } = identity.operator;
  for (const [work, code, param] of [
    [() => createKey({ ...ofMember, scopes: ['agents:read', 'users:read'] }), 'invalid_scope', 'scopes'],
    [() => createKey({ ...ofTest, scopes: ['users:write'] }), 'invalid_scope', 'scopes'],
    [() => createKey({ ...ofMember, admin: true }), 'invalid_request', 'admin'],
    [() => createOauthClient({ ...ofMember, scopes: ['credits:write'] }), 'invalid_scope', 'scopes'],
    [() => createOauthClient({ ...ofTest, userId: '', scopes: ['users:write'] }), 'invalid_scope', 'scopes'],
  ] as const)
    await expect(work()).rejects.toMatchObject({ code, param });
  await createKey({ ...ofMember, scopes: ['agents:read'] });
  await createOauthClient({ ...ofTest, userId: '', scopes: ['users:read'] });
});
