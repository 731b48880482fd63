import type { Principal } from '@agent-service/contracts';
import { withDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type BootedService, boot } from './boot.ts';
import { lockUser, outcomeBehind } from './portal-world.ts';

let identity: BootedService;
let admin: Principal;
let member: string;
beforeAll(async () => {
  identity = await boot();
  const { liveApiKey } = await identity.operator.createOrganization({ name: 'Acme' });
  admin = await principalOf(liveApiKey);
  const { user } = await identity.as(admin, () => identity.gateway.createUser({ name: 'Member', email: 'member@acme.example' }));
  member = user?.id ?? '';
});
afterAll(() => identity?.stop());

async function principalOf(token: string): Promise<Principal> {
  const { results } = await identity.gateway.authenticate({ tokens: [token] });
  return results[0]?.principal as Principal;
}

/** A key of the administrator, and a key and an application of the member. */
async function makeCredentials() {
  const { gateway } = identity;
  const issueKey = (userId: string, isAdmin: boolean) =>
    identity.as(admin, () => gateway.issueKey({ name: 'Key', userId, admin: isAdmin }));
  const { application } = await identity.as(admin, () => gateway.issueOauthApplication({ name: 'Application', userId: member }));
  const caller = await principalOf((await issueKey(admin.userId, true)).apiKey);
  return { caller, keyId: (await issueKey(member, false)).key?.id ?? '', applicationId: application?.id ?? '' };
}
type Credentials = Awaited<ReturnType<typeof makeCredentials>>;

const lockOfMember = (): readonly [string, string] => [lockUser, member];
/** The locks of changes that do not wait for that of the member. */
const locks: Readonly<Record<string, readonly [string]>> = {
  createUser: [`select 1 from user_counts where role = 'member' for update`],
  revokeKey: ['select 1 from credential_counts for update'],
  revokeOauthClient: ['select 1 from credential_counts for update'],
};
const changes: Readonly<Record<string, (gateway: BootedService['gateway'], created: Credentials) => Promise<unknown>>> = {
  issueKey: (gateway) => gateway.issueKey({ name: 'Late', userId: member }),
  updateKey: (gateway, { keyId }) => gateway.updateKey({ keyId, name: 'Late' }),
  rotateKey: (gateway, { keyId }) => gateway.rotateKey({ keyId }),
  issueOauthApplication: (gateway) => gateway.issueOauthApplication({ name: 'Late', userId: member }),
  updateOauthApplication: (gateway, { applicationId }) => gateway.updateOauthApplication({ applicationId, name: 'Late' }),
  rotateOauthSecret: (gateway, { applicationId }) => gateway.rotateOauthSecret({ applicationId }),
  updateUser: (gateway) => gateway.updateUser({ userId: member, name: 'Late' }),
  revokeKey: (gateway, { keyId }) => gateway.revokeKey({ keyId }),
  revokeOauthClient: (gateway, { applicationId }) => gateway.revokeOauthClient({ clientId: applicationId }),
  createUser: (gateway) => gateway.createUser({ name: 'Late', email: 'late@acme.example' }),
};

const query = (statement: string, values: unknown[] = []) =>
  withDatabase(identity.url, async (client) => {
    await client.query('set search_path = identity');
    return (await client.query(statement, values)).rows;
  });

/** Without whether the key of the caller has ended, which the tests end. */
const readState = ({ credentialId }: Principal) =>
  query(
    `select id, name, false as ended from users union all select id, name, revoked_at is not null and id <> $1 from api_keys
     union all select id, name, revoked_at is not null from oauth_clients order by id`,
    [credentialId],
  );

describe('a change that waited until the credential of its caller was revoked has no effect', () => {
  test.each(Object.entries(changes))('%s', async (name, change) => {
    const created = await makeCredentials();
    const before = await readState(created.caller);
    const revocation = [
      locks[name] ?? lockOfMember(),
      ['update api_keys set revoked_at = clock_timestamp() where id = $1', created.caller.credentialId],
    ] as const;
    const work = () => identity.as(created.caller, () => change(identity.gateway, created));
    expect(await outcomeBehind(identity.url, revocation, work)).toBe('token_revoked');
    expect(await readState(created.caller)).toEqual(before);
  });

  test('nor does one whose caller was demoted, and a key can rotate itself', async () => {
    const { caller } = await makeCredentials();
    const { gateway, operator } = identity;
    const { keyId } = await operator.createKey({ organizationId: admin.organizationId, userId: member, environment: 'live' });
    const demotion = [lockOfMember(), [`update users set role = 'member' where id = $1`, caller.userId]] as const;
    const work = () => identity.as(caller, () => gateway.updateKey({ keyId, name: 'Late' }));
    expect(await outcomeBehind(identity.url, demotion, work)).toBe('admin_required');
    await query(`update users set role = 'admin' where id = $1`, [caller.userId]);
    const rotated = await identity.as(caller, () => gateway.rotateKey({ keyId: caller.credentialId, previousValidSeconds: 0 }));
    expect(rotated.apiKey).not.toBe('');
  });
});

describe('a change that waited until scopes were taken from the credential of its caller has no effect', () => {
  const withoutUsersWrite = `update api_keys set scopes = array_remove(scopes, 'users:write') where id = $1`;

  test('a new key does not get them', async () => {
    const { caller } = await makeCredentials();
    const before = await readState(caller);
    const narrowing = [lockOfMember(), [withoutUsersWrite, caller.credentialId]] as const;
    const work = () => identity.as(caller, () => identity.gateway.issueKey({ name: 'Late', userId: member }));
    expect(await outcomeBehind(identity.url, narrowing, work)).toBe('insufficient_scope');
    expect(await readState(caller)).toEqual(before);
  });

  test('a key does not take them back', async () => {
    const { caller } = await makeCredentials();
    const narrowing = [[withoutUsersWrite, caller.credentialId]] as const;
    const work = () =>
      identity.as(caller, () => identity.gateway.updateKey({ keyId: caller.credentialId, scopes: { values: ['users:write'] } }));
    expect(await outcomeBehind(identity.url, narrowing, work)).toBe('insufficient_scope');
    const { scopes } = await principalOf(
      (await identity.as(admin, () => identity.gateway.rotateKey({ keyId: caller.credentialId }))).apiKey,
    );
    expect(scopes).not.toContain('users:write');
  });

  test('a user whose role was taken away registers no user, also without an administrator key', async () => {
    const { caller } = await makeCredentials();
    const before = await readState(caller);
    const lock = [`select 1 from user_counts where role = 'member' for update`] as const;
    const demotion = [lock, [`update users set role = 'member' where id = $1`, caller.userId]] as const;
    const work = () =>
      identity.as({ ...caller, admin: false }, () => identity.gateway.createUser({ name: 'Late', email: 'late-too@acme.example' }));
    expect(await outcomeBehind(identity.url, demotion, work)).toBe('insufficient_scope');
    await query(`update users set role = 'admin' where id = $1`, [caller.userId]);
    expect(await readState(caller)).toEqual(before);
  });

  test('a key can give scopes of its own away', async () => {
    const { caller } = await makeCredentials();
    const { key } = await identity.as(caller, () =>
      identity.gateway.updateKey({ keyId: caller.credentialId, scopes: { values: ['agents:read'] } }),
    );
    expect(key?.scopes).toEqual(['agents:read']);
  });
});
