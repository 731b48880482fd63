import { randomUUID } from 'node:crypto';
import type { Principal } from '@agent-service/contracts';
import { countLockWaits, until, withDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Client as Database } from 'pg';
import { connectToIdentity } from './audit-world.ts';
import { type BootedService, boot } from './boot.ts';
import { outcomeBehind } from './portal-world.ts';

let identity: BootedService;
let database: Database;
let admin: Principal;
let testAdmin: Principal;
let organizationId: string;

const principalOf = async (token: string): Promise<Principal> => {
  const { results } = await identity.gateway.authenticate({ tokens: [token] });
  if (!results[0]?.principal) throw new Error(`refused: ${results[0]?.refusal}`);
  return results[0].principal as Principal;
};
const refusalOf = async (token: string) => (await identity.gateway.authenticate({ tokens: [token] })).results[0]?.refusal;

beforeAll(async () => {
  identity = await boot();
  database = await connectToIdentity(identity.url);
  const organization = await identity.operator.createOrganization({ name: 'Acme' });
  organizationId = organization.organizationId;
  admin = await principalOf(organization.liveApiKey);
  testAdmin = await principalOf(organization.testApiKey);
});

afterAll(async () => {
  await database?.end();
  await identity?.stop();
});

type Gateway = BootedService['gateway'];
const asAdmin = <T>(work: (gateway: Gateway) => T): T => identity.as(admin, () => work(identity.gateway));
const issueKey = (request: Partial<Parameters<Gateway['issueKey']>[0]> = {}) =>
  asAdmin((gateway) => gateway.issueKey({ name: 'Made', ...request }));
const issueApplication = (request: Partial<Parameters<Gateway['issueOauthApplication']>[0]> = {}) =>
  asAdmin((gateway) => gateway.issueOauthApplication({ name: 'Made', ...request }));
const tokenOf = async (clientId: string, clientSecret: string) =>
  (await identity.gateway.issueClientToken({ clientId, clientSecret })).accessToken;

async function makeMember(): Promise<string> {
  const email = `${randomUUID()}@acme.example`;
  const { user } = await asAdmin((gateway) => gateway.createUser({ name: 'Member', email, role: 'member' }));
  return user?.id ?? '';
}

describe('a caller', () => {
  test('learns about itself, by key, by token and as an application', async () => {
    const issued = await issueKey({ name: 'Mine' });
    const self = await identity.as(await principalOf(issued.apiKey), () => identity.gateway.getSelf({}));
    expect(self).toMatchObject({
      user: { id: admin.userId, role: 'admin' },
      userKind: 'person',
      organizationName: 'Acme',
      credentialType: 'api_key',
      credentialName: 'Mine',
      credentialEndsAt: '',
    });
    const { application, clientSecret } = await issueApplication({ name: 'Robot' });
    const caller = await principalOf(await tokenOf(application?.id ?? '', clientSecret));
    expect(await identity.as(caller, () => identity.gateway.getSelf({}))).toMatchObject({
      user: { name: 'Robot' },
      userKind: 'service',
      credentialType: 'oauth_application',
      credentialName: 'Robot',
    });
  });
});

describe('keys', () => {
  test('are issued for a user within the caller’s scopes and the user’s role', async () => {
    const member = await makeMember();
    const issued = await issueKey({ userId: member });
    expect(issued.key?.scopes).toEqual(['agents:read', 'agents:write', 'agents:chat', 'templates:read', 'credits:read']);
    expect(await principalOf(issued.apiKey)).toMatchObject({ userId: member, role: 'member', admin: false });
    const narrow = { ...admin, scopes: ['agents:read'] };
    const byNarrow = await identity.as(narrow, () => identity.gateway.issueKey({ name: 'Narrow', admin: true }));
    expect(byNarrow.key?.scopes).toEqual(['agents:read']);
    const without = await identity.as({ ...admin, scopes: [] }, () => identity.gateway.issueKey({ name: 'None', admin: true }));
    expect((await principalOf(without.apiKey)).scopes).toEqual([]);
    for (const [work, code, param] of [
      [() => identity.as(narrow, () => identity.gateway.issueKey({ name: 'x', scopes: ['audit:read'] })), 'invalid_scope', 'scopes'],
      [() => issueKey({ userId: member, scopes: ['audit:read'] }), 'invalid_scope', 'scopes'],
      [() => issueKey({ scopes: ['nothing:read'] }), 'invalid_scope', 'scopes'],
      [() => issueKey({ userId: member, admin: true }), 'invalid_request', 'admin'],
      [() => issueKey({ userId: 'usr_none' }), 'not_found', null],
      [() => issueKey({ name: '' }), 'invalid_request', 'name'],
      [() => identity.as({ ...admin, admin: false }, () => identity.gateway.issueKey({ name: 'x' })), 'admin_required', null],
    ] as const)
      await expect(work()).rejects.toMatchObject({ code, param });
  });

  test('of another tenant are not there', async () => {
    const issued = await issueKey();
    const keyId = issued.key?.id ?? '';
    const stranger = await principalOf((await identity.operator.createOrganization({ name: 'Other' })).liveApiKey);
    for (const caller of [stranger, testAdmin]) {
      for (const work of [
        () => identity.gateway.getKey({ keyId }),
        () => identity.gateway.updateKey({ keyId, name: 'Taken' }),
        () => identity.gateway.rotateKey({ keyId }),
      ])
        await expect(identity.as(caller, work)).rejects.toMatchObject({ code: 'not_found' });
      const { keys } = await identity.as(caller, () => identity.gateway.listKeys({}));
      expect(keys.map(({ id }) => id)).not.toContain(keyId);
    }
    await expect(identity.as(stranger, () => identity.gateway.issueKey({ name: 'x', userId: admin.userId }))).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  test('are listed newest first with exact totals by user and status, across revocations and a deactivation', async () => {
    const member = await makeMember();
    const issued: string[] = [];
    for (let index = 0; index < 5; index += 1) issued.unshift((await issueKey({ userId: member, name: `k${index}` })).key?.id ?? '');
    const pageOf = (status: string, limit: number, cursor = '') =>
      asAdmin((gateway) => gateway.listKeys({ userId: member, status, page: { limit, cursor } }));
    const first = await pageOf('', 3);
    const second = await pageOf('', 3, first.page?.nextCursor);
    expect([...first.keys, ...second.keys].map(({ id }) => id)).toEqual(issued);
    expect([first.page?.total, second.page?.nextCursor]).toEqual(['5', '']);
    await expect(pageOf('active', 3, first.page?.nextCursor)).rejects.toMatchObject({ code: 'invalid_cursor' });
    await asAdmin((gateway) => gateway.revokeKey({ keyId: issued[0] ?? '' }));
    expect((await pageOf('active', 10)).keys.map(({ id }) => id)).toEqual(issued.slice(1));
    expect([(await pageOf('active', 1)).page?.total, (await pageOf('ended', 1)).page?.total]).toEqual(['4', '1']);
    await asAdmin((gateway) => gateway.updateUser({ userId: member, status: 'deactivated' }));
    expect([(await pageOf('active', 1)).page?.total, (await pageOf('ended', 1)).page?.total]).toEqual(['0', '5']);
    await expect(issueKey({ userId: member })).rejects.toMatchObject({ code: 'user_deactivated' });
  });

  test('are locked after their user, so that a change waits for a deactivation and neither fails', async () => {
    const keyId = (await issueKey()).key?.id ?? '';
    await withDatabase(identity.url, async (client) => {
      await client.query('begin; set local search_path = identity');
      await client.query('select 1 from users where id = (select user_id from api_keys where id = $1) for update', [keyId]);
      const change = asAdmin((gateway) => gateway.updateKey({ keyId, name: 'Late' })).catch((cause: unknown) => cause);
      await until('the change waits', async () => (await countLockWaits(identity.url)) > 0);
      await client.query('update api_keys set revoked_at = now() where id = $1', [keyId]);
      await client.query('commit');
      expect(await change).toMatchObject({ code: 'credential_ended' });
    });
  });

  test('show when they were last used, which is before their end also if it is written after that', async () => {
    const issued = await issueKey();
    expect(issued.key?.lastUsedAt).toBe('');
    await principalOf(issued.apiKey);
    const keyId = issued.key?.id ?? '';
    await asAdmin((gateway) => gateway.revokeKey({ keyId }));
    const readKey = async () => (await asAdmin((gateway) => gateway.getKey({ keyId }))).key;
    await until('the use is written', async () => (await readKey())?.lastUsedAt !== '');
    const { lastUsedAt = '', endsAt = '' } = (await readKey()) ?? {};
    expect(Date.parse(lastUsedAt)).toBeLessThanOrEqual(Date.parse(endsAt));
  });

  test('lose a scope everywhere when a change has answered, and none that the caller lacks can be added', async () => {
    const issued = await issueKey({ scopes: ['agents:read', 'users:read'] });
    const keyId = issued.key?.id ?? '';
    const { accessToken } = await identity.gateway.issueToken({ apiKey: issued.apiKey });
    const change = { keyId, name: 'Renamed', scopes: { values: ['agents:read'] }, tokenTtlSeconds: 300 };
    expect(await identity.pausesDuring(() => asAdmin((gateway) => gateway.updateKey(change)))).toEqual([1_200]);
    expect((await asAdmin((gateway) => gateway.getKey({ keyId }))).key).toMatchObject({
      name: 'Renamed',
      scopes: ['agents:read'],
      tokenTtlSeconds: 300,
    });
    expect((await principalOf(accessToken)).scopes).toEqual(['agents:read']);
    expect((await identity.gateway.issueToken({ apiKey: issued.apiKey })).expiresIn).toBe(300);
    await expect(
      identity.as({ ...admin, scopes: ['agents:read'] }, () => identity.gateway.updateKey({ keyId, scopes: { values: ['users:read'] } })),
    ).rejects.toMatchObject({ code: 'invalid_scope' });
  });
});

describe('a rotation of a key', () => {
  test('makes a new key, and the old one and its tokens stay valid until the stated time', async () => {
    const issued = await issueKey({ name: 'Rotated', scopes: ['agents:read'] });
    const keyId = issued.key?.id ?? '';
    const { accessToken } = await identity.gateway.issueToken({ apiKey: issued.apiKey });
    const rotated = await asAdmin((gateway) => gateway.rotateKey({ keyId, previousValidSeconds: 3_600 }));
    expect(rotated.key).toMatchObject({ name: 'Rotated', scopes: ['agents:read'], userId: admin.userId, endsAt: '' });
    expect(rotated.key?.id).not.toBe(keyId);
    expect(await refusalOf(rotated.apiKey)).toBeUndefined();
    const { results } = await identity.gateway.authenticate({ tokens: [issued.apiKey, accessToken] });
    for (const { principal, expiresInMs } of results) {
      expect(principal?.credentialId).toBe(keyId);
      expect(Number(expiresInMs)).toBeLessThanOrEqual(3_600_000);
      expect(Number(expiresInMs)).toBeGreaterThan(3_500_000);
    }
    await database.query(`update identity.api_keys set revoked_at = now() + interval '100 seconds' where id = $1`, [keyId]);
    expect((await identity.gateway.issueToken({ apiKey: issued.apiKey })).expiresIn).toBeLessThanOrEqual(101);
    await database.query('update identity.api_keys set revoked_at = $2 where id = $1', [keyId, rotated.previousEndsAt]);
    expect((await asAdmin((gateway) => gateway.getKey({ keyId }))).key).toMatchObject({
      endsAt: rotated.previousEndsAt,
      replacedBy: rotated.key?.id,
    });
    await expect(asAdmin((gateway) => gateway.rotateKey({ keyId }))).rejects.toMatchObject({ code: 'credential_ended' });
    await expect(asAdmin((gateway) => gateway.updateKey({ keyId, name: 'x' }))).rejects.toMatchObject({ code: 'credential_ended' });
    await database.query('update identity.api_keys set revoked_at = now() where id = $1', [keyId]);
    expect([await refusalOf(issued.apiKey), await refusalOf(accessToken)]).toEqual(['token_revoked', 'token_revoked']);
  });

  test('with no overlap ends the old key before it answers; a revocation ends one whose end lies ahead', async () => {
    const [one, two] = [await issueKey(), await issueKey()];
    const rotate = () => asAdmin((gateway) => gateway.rotateKey({ keyId: one.key?.id ?? '', previousValidSeconds: 0 }));
    expect(await identity.pausesDuring(rotate)).toEqual([1_200]);
    expect(await refusalOf(one.apiKey)).toBe('token_revoked');
    await asAdmin((gateway) => gateway.rotateKey({ keyId: two.key?.id ?? '', previousValidSeconds: 3_600 }));
    await asAdmin((gateway) => gateway.revokeKey({ keyId: two.key?.id ?? '' }));
    expect(await refusalOf(two.apiKey)).toBe('token_revoked');
    // A revocation does not depend on a clock: an end ahead, as after a failover to a server whose clock is behind, restores nothing.
    await database.query(`update identity.api_keys set revoked_at = now() + interval '1 hour' where id = $1`, [two.key?.id]);
    expect(await refusalOf(two.apiKey)).toBe('token_revoked');
  });

  test('ends with a deactivation of the user, too', async () => {
    const member = await makeMember();
    const issued = await issueKey({ userId: member });
    const rotated = await asAdmin((gateway) => gateway.rotateKey({ keyId: issued.key?.id ?? '', previousValidSeconds: 3_600 }));
    const { endedCredentials } = await asAdmin((gateway) => gateway.updateUser({ userId: member, status: 'deactivated' }));
    expect(endedCredentials?.apiKeys).toBe(2);
    await asAdmin((gateway) => gateway.updateUser({ userId: member, status: 'active' }));
    expect([await refusalOf(issued.apiKey), await refusalOf(rotated.apiKey)]).toEqual(['token_revoked', 'token_revoked']);
  });

  test('needs every scope of the key', async () => {
    const issued = await issueKey();
    const narrow = { ...admin, scopes: ['agents:read'] };
    await expect(identity.as(narrow, () => identity.gateway.rotateKey({ keyId: issued.key?.id ?? '' }))).rejects.toMatchObject({
      code: 'insufficient_scope',
    });
    await expect(
      asAdmin((gateway) => gateway.rotateKey({ keyId: issued.key?.id ?? '', previousValidSeconds: 604_801 })),
    ).rejects.toMatchObject({ code: 'invalid_request', param: 'previous_valid_seconds' });
  });

  test('repeated under an Idempotency-Key returns the same key, which is stored sealed', async () => {
    const issued = await issueKey();
    const once = { scope: `rotate ${issued.key?.id}`, fingerprint: 'f' };
    const rotate = () =>
      identity.as(admin, () => identity.gateway.rotateKey({ keyId: issued.key?.id ?? '', previousValidSeconds: 60 }), once);
    const [first, second] = [await rotate(), await rotate()];
    expect(second).toEqual(first);
    const { rows } = await database.query('select response::text from identity.idempotency_records where scope = $1', [once.scope]);
    expect(rows).toHaveLength(1);
    expect(rows[0].response).not.toContain(first.apiKey);
  });
});

describe('applications', () => {
  test('get a service user in the live environment, and name their user in the test environment', async () => {
    const { application } = await issueApplication({ name: 'Robot', scopes: ['agents:read'] });
    expect(application).toMatchObject({ name: 'Robot', scopes: ['agents:read'] });
    expect(application?.userId).not.toBe(admin.userId);
    const inTest = (userId: string) => identity.as(testAdmin, () => identity.gateway.issueOauthApplication({ name: 'Robot', userId }));
    await expect(inTest('')).rejects.toMatchObject({ code: 'invalid_request', param: 'user_id' });
    expect((await inTest(admin.userId)).application?.userId).toBe(admin.userId);
  });

  test('of an administrator make no administrator, and neither does a key without the flag', async () => {
    const { application, clientSecret } = await issueApplication({ userId: admin.userId });
    const ofApplication = await principalOf(await tokenOf(application?.id ?? '', clientSecret));
    const plain = await principalOf((await issueKey()).apiKey);
    const deactivated = await makeMember();
    await asAdmin((gateway) => gateway.updateUser({ userId: deactivated, status: 'deactivated' }));
    for (const caller of [ofApplication, plain]) {
      expect(caller).toMatchObject({ role: 'admin', admin: false, scopes: expect.arrayContaining(['users:write']) });
      const register = (role: string) =>
        identity.as(caller, () => identity.gateway.createUser({ name: 'Added', email: `${randomUUID()}@acme.example`, role }));
      await expect(register('admin')).rejects.toMatchObject({ code: 'admin_required' });
      for (const userId of [(await register('member')).user?.id ?? '', deactivated])
        await expect(identity.as(caller, () => identity.gateway.updateUser({ userId, role: 'admin' }))).rejects.toMatchObject({
          code: 'admin_required',
        });
    }
  });

  test('accept the old secret beside the new one until the stated time, and only these two', async () => {
    const { application, clientSecret } = await issueApplication();
    const applicationId = application?.id ?? '';
    const rotate = (previousValidSeconds: number) =>
      asAdmin((gateway) => gateway.rotateOauthSecret({ applicationId, previousValidSeconds }));
    const old = await tokenOf(applicationId, clientSecret);
    const rotated = await rotate(3_600);
    expect(rotated.application?.previousSecretEndsAt).not.toBe('');
    for (const secret of [clientSecret, rotated.clientSecret])
      expect(await refusalOf(await tokenOf(applicationId, secret))).toBeUndefined();
    const third = await rotate(3_600);
    await expect(tokenOf(applicationId, clientSecret)).rejects.toMatchObject({ code: 'invalid_client' });
    expect(await refusalOf(old)).toBeUndefined();
    let last = '';
    const pauses = await identity.pausesDuring(async () => {
      last = (await rotate(0)).clientSecret;
    });
    expect(pauses).toEqual([1_200]);
    expect(await refusalOf(old)).toBe('token_revoked');
    for (const secret of [rotated.clientSecret, third.clientSecret])
      await expect(tokenOf(applicationId, secret)).rejects.toMatchObject({ code: 'invalid_client' });
    // Tokens of the second in which the old ones ended are refused as well. The pause would have outlasted it.
    await until('that second is over', async () => (await refusalOf(await tokenOf(applicationId, last))) === undefined);
  });

  test('get no token for a secret while its replacement commits, which would be one from after that', async () => {
    const { application, clientSecret } = await issueApplication();
    const clientId = application?.id ?? '';
    // Tokens from before the present second will be refused.
    const replace = `update oauth_clients set secret_hash = reverse(secret_hash), tokens_since = date_trunc('second', now()) where id = $1`;
    expect(await outcomeBehind(identity.url, [[replace, clientId]], () => tokenOf(clientId, clientSecret))).toBe('invalid_client');
  });

  test('are changed, listed and revoked by administrators of their tenant only', async () => {
    const { application, clientSecret } = await issueApplication();
    const applicationId = application?.id ?? '';
    const token = await tokenOf(applicationId, clientSecret);
    const works: readonly (() => Promise<unknown>)[] = [
      () => identity.gateway.getOauthApplication({ applicationId }),
      () => identity.gateway.updateOauthApplication({ applicationId, name: 'Taken' }),
      () => identity.gateway.rotateOauthSecret({ applicationId }),
      () => identity.gateway.revokeOauthClient({ clientId: applicationId }),
    ];
    for (const work of works) {
      await expect(identity.as(testAdmin, work)).rejects.toMatchObject({ code: 'not_found' });
      await expect(identity.as({ ...admin, admin: false }, work)).rejects.toMatchObject({ code: 'admin_required' });
    }
    const changed = await asAdmin((gateway) =>
      gateway.updateOauthApplication({ applicationId, name: 'Renamed', scopes: { values: ['agents:read'] } }),
    );
    expect(changed.application).toMatchObject({ name: 'Renamed', scopes: ['agents:read'] });
    expect((await principalOf(token)).scopes).toEqual(['agents:read']);
    await asAdmin((gateway) => gateway.revokeOauthClient({ clientId: applicationId }));
    expect(await refusalOf(token)).toBe('token_revoked');
    await expect(works[2]?.call(undefined)).rejects.toBeDefined();
    await expect(asAdmin(() => works[2]?.())).rejects.toMatchObject({ code: 'credential_ended' });
    const { applications } = await asAdmin((gateway) => gateway.listOauthApplications({ status: 'ended' }));
    expect(applications.map(({ id }) => id)).toContain(applicationId);
  });
});

describe('limits', () => {
  test('a tenant has at most 1,000 active keys and applications, also when two are created at once', async () => {
    const crowded = await identity.operator.createOrganization({ name: 'Crowded' });
    const principal = await principalOf(crowded.liveApiKey);
    await database.query(
      `insert into identity.api_keys (organization_id, id, environment, user_id, hash, hint, scopes, admin, created_at)
       select $1, 'key_crowd_' || n, 'live', $2, 'crowd_' || n, '', '{}', false, now() from generate_series(1, 998) n`,
      [crowded.organizationId, crowded.userId],
    );
    const issue = () => identity.as(principal, () => identity.gateway.issueKey({ name: 'One more' }));
    const outcomes = await Promise.allSettled([issue(), issue()]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'credential_limit_reached' } });
    expect((await identity.as(principal, () => identity.gateway.listKeys({}))).page?.total).toBe('1000');
    await identity.as(principal, () => identity.gateway.revokeKey({ keyId: 'key_crowd_1' }));
    await issue();
    // The other environment and other organizations have limits of their own.
    await issueKey();
    await identity.as({ ...principal, environment: 'test' }, () => identity.gateway.issueKey({ name: 'Test' }));
  });
});

test('each change of a credential is in the audit log, without a secret', async () => {
  const issued = await issueKey({ name: 'Audited' });
  const rotated = await asAdmin((gateway) => gateway.rotateKey({ keyId: issued.key?.id ?? '' }));
  await asAdmin((gateway) => gateway.updateKey({ keyId: rotated.key?.id ?? '', name: 'Renamed' }));
  const app = await issueApplication();
  await asAdmin((gateway) => gateway.rotateOauthSecret({ applicationId: app.application?.id ?? '', previousValidSeconds: 60 }));
  await asAdmin((gateway) => gateway.updateOauthApplication({ applicationId: app.application?.id ?? '', name: 'Renamed' }));
  const targets = [issued.key?.id, rotated.key?.id, app.application?.id];
  const entries = async () =>
    (
      await database.query<{ action: string; changes_json: string; environment: string }>(
        'select action, changes_json, environment from identity.audit_entries where organization_id = $1 and target_id = any($2) order by sequence',
        [organizationId, targets],
      )
    ).rows;
  await until('all are appended', async () => (await entries()).length >= 7);
  const written = await entries();
  expect(written.map(({ action }) => action).sort()).toEqual(
    [
      'key.created',
      'key.created',
      'key.rotated',
      'key.updated',
      'oauth_client.created',
      'oauth_client.secret_rotated',
      'oauth_client.updated',
    ].sort(),
  );
  for (const { changes_json, environment } of written) {
    expect(environment).toBe('live');
    for (const secret of [issued.apiKey, rotated.apiKey, app.clientSecret]) expect(changes_json).not.toContain(secret);
  }
});
