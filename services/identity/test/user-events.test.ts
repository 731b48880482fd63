import { createClient, type Principal } from '@agent-service/contracts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client as Database } from 'pg';
import { type BootedService, boot } from './boot.ts';

let identity: BootedService;
let admin: Principal;

beforeAll(async () => {
  identity = await boot({ WEBHOOKS_ENABLED: 'true', WEBHOOKS_ADDRESS: '127.0.0.1:1' });
  const { organizationId, userId } = await identity.operator.createOrganization({ name: 'Acme', email: 'admin@acme.example' });
  admin = { organizationId, environment: 'live', userId, credentialId: 'key_1', scopes: ['users:write', 'users:read'], admin: true };
});
afterAll(() => identity.stop());

interface Kept {
  payload: { type: string; environment: string; data: Record<string, unknown> };
}

async function keptEvents(): Promise<Kept['payload'][]> {
  const database = new Database({ connectionString: identity.url, options: '-c search_path=identity' });
  await database.connect();
  const { rows } = await database.query<Kept>("select payload from outbox where topic = 'events' order by id");
  await database.end();
  return rows.map(({ payload }) => payload);
}

test('a user who is registered or deactivated leaves one event for both environments, and a change of name leaves none', async () => {
  const { user } = await identity.as(admin, () => identity.gateway.createUser({ name: 'Ada', email: 'ada@acme.example', role: 'member' }));
  const userId = user?.id ?? '';
  await identity.as(admin, () => identity.gateway.updateUser({ userId, name: 'Ada L.' }));
  await identity.as(admin, () => identity.gateway.updateUser({ userId, status: 'deactivated' }));
  await identity.as(admin, () => identity.gateway.updateUser({ userId, status: 'deactivated' }));
  const { organizationId } = admin;
  expect(await keptEvents()).toMatchObject([
    {
      type: 'user.registered',
      organizationId,
      environment: '',
      data: { organization_id: organizationId, user_id: userId, role: 'member' },
    },
    { type: 'user.deactivated', organizationId, environment: '', data: { organization_id: organizationId, user_id: userId } },
  ]);
});

test('the list of administrators is for webhooks alone, and has active users who manage the organization', async () => {
  const webhooks = createClient('identity', { address: identity.address, as: 'webhooks', config: identity.config });
  const { users } = await webhooks.listAdministrators({ organizationId: admin.organizationId });
  expect(users.map(({ email }) => email)).toEqual(['admin@acme.example']);
  expect((await webhooks.listAdministrators({ organizationId: 'org_other' })).users).toEqual([]);
  webhooks.close();
  await expect(identity.gateway.listAdministrators({ organizationId: admin.organizationId })).rejects.toMatchObject({
    code: 'service_forbidden',
  });
});
