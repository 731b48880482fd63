import type { Principal } from '@agent-service/contracts';
import { until, withDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import jwt from 'jsonwebtoken';
import { Client as Database } from 'pg';
import { userStatements } from '../src/store/users.ts';
import { type BootedService, boot } from './boot.ts';

let identity: BootedService;
let organization: Awaited<ReturnType<BootedService['operator']['createOrganization']>>;
let admin: Principal;

const principalOf = async (token: string): Promise<Principal> => {
  const { results } = await identity.gateway.authenticate({ tokens: [token] });
  if (!results[0]?.principal) throw new Error(`refused: ${results[0]?.refusal}`);
  return results[0].principal as Principal;
};

const refusalOf = async (token: string) => (await identity.gateway.authenticate({ tokens: [token] })).results[0]?.refusal;

beforeAll(async () => {
  identity = await boot();
  organization = await identity.operator.createOrganization({ name: 'Acme', email: 'root@acme.example' });
  admin = await principalOf(organization.liveApiKey);
});

afterAll(() => identity.stop());

describe('authentication', () => {
  test('a key speaks for its user, organization and environment', async () => {
    expect(admin).toMatchObject({
      organizationId: organization.organizationId,
      environment: 'live',
      userId: organization.userId,
      admin: true,
    });
    expect(await principalOf(organization.testApiKey)).toMatchObject({ environment: 'test' });
  });

  test('a batch is answered in order, repeats included', async () => {
    const tokens = [organization.testApiKey, 'nonsense', organization.liveApiKey, organization.testApiKey];
    const { results } = await identity.gateway.authenticate({ tokens });
    expect(results.map((result) => result.principal?.environment ?? result.refusal)).toEqual(['test', 'invalid_token', 'live', 'test']);
  });

  test('a token made from a key carries exactly the stated claims', async () => {
    const { accessToken, expiresIn } = await identity.gateway.issueToken({ apiKey: organization.liveApiKey });
    const claims = jwt.decode(accessToken) as jwt.JwtPayload;
    expect(Object.keys(claims).sort()).toEqual(['admin', 'env', 'exp', 'iat', 'iss', 'jti', 'key_id', 'org', 'scope', 'sub']);
    expect(claims).toMatchObject({ sub: organization.userId, org: organization.organizationId, env: 'live', admin: true });
    expect(expiresIn).toBe(3_600);
    expect(await principalOf(accessToken)).toMatchObject({ credentialId: admin.credentialId, admin: true });
  });

  test('a key with a lifetime of its own makes tokens of that lifetime', async () => {
    const key = await identity.operator.createKey({
      organizationId: organization.organizationId,
      userId: organization.userId,
      environment: 'live',
      tokenTtlSeconds: 300,
    });
    expect((await identity.gateway.issueToken({ apiKey: key.apiKey })).expiresIn).toBe(300);
  });

  test('tokens signed before a rotation stay valid, and both keys are published', async () => {
    const before = await identity.gateway.issueToken({ apiKey: organization.liveApiKey });
    const { kid } = await identity.operator.rotateSigningKey({});
    const after = await identity.gateway.issueToken({ apiKey: organization.liveApiKey });
    expect(jwt.decode(after.accessToken, { complete: true })?.header.kid).toBe(kid);
    expect(await refusalOf(before.accessToken)).toBeUndefined();
    expect(await refusalOf(after.accessToken)).toBeUndefined();
    const { keys } = await identity.gateway.listSigningKeys({});
    expect(keys.map((key) => key.kid)).toContain(kid);
    expect(keys.length).toBeGreaterThan(1);
    const rotations = () =>
      withDatabase(identity.url, (client) =>
        client.query("select target_id from identity.audit_entries where organization_id = 'service' and action = 'signing_key.rotated'"),
      );
    await until('it stands in the audit log', async () => (await rotations()).rows.some((row) => row.target_id === kid));
  });

  test('a revoked signing key verifies no token, is not published, and is in the audit log', async () => {
    const kidOf = (token: string) => jwt.decode(token, { complete: true })?.header.kid ?? '';
    const { accessToken } = await identity.gateway.issueToken({ apiKey: organization.liveApiKey });
    let signingKid = '';
    const pauses = await identity.pausesDuring(async () => {
      ({ signingKid } = await identity.operator.revokeSigningKey({ kid: kidOf(accessToken) }));
    });
    expect(pauses).toEqual([1_200]);
    expect(await refusalOf(accessToken)).toBe('token_revoked');
    const { keys } = await identity.gateway.listSigningKeys({});
    expect(keys.map(({ kid }) => kid)).not.toContain(kidOf(accessToken));
    const next = await identity.gateway.issueToken({ apiKey: organization.liveApiKey });
    expect(kidOf(next.accessToken)).toBe(signingKid);
    expect(await refusalOf(next.accessToken)).toBeUndefined();
    const database = new Database({ connectionString: identity.url });
    await database.connect();
    const audited = `select target_id from identity.audit_entries where organization_id = 'service' and action = 'signing_key.revoked'`;
    await until('it stands in the audit log', async () => (await database.query(audited)).rowCount === 1);
    expect((await database.query(audited)).rows).toEqual([{ target_id: kidOf(accessToken) }]);
    await database.end();
    const { faults } = await identity.operator.verifyAuditChain({ organizationId: 'service' });
    expect(faults).toEqual([]);
  });

  test('a new key is published before it signs, and a second rotation before that is the same rotation', async () => {
    const careful = await boot({ SIGNING_KEY_AHEAD_SECONDS: '120' });
    const created = await careful.operator.createOrganization({ name: 'Careful' });
    const kidNow = async () =>
      jwt.decode((await careful.gateway.issueToken({ apiKey: created.liveApiKey })).accessToken, { complete: true })?.header.kid;
    const first = await kidNow();
    const { kid } = await careful.operator.rotateSigningKey({});
    expect((await careful.gateway.listSigningKeys({})).keys.map((key) => key.kid).sort()).toEqual([first, kid].sort());
    expect(await kidNow()).toBe(first);
    expect((await careful.operator.rotateSigningKey({})).kid).toBe(kid);
    const database = new Database({ connectionString: careful.url });
    await database.connect();
    await database.query('update identity.signing_keys set activates_at = now() where kid = $1', [kid]);
    await database.end();
    expect(await kidNow()).toBe(kid);
    await careful.stop();
  });

  test('forged tokens are refused with any claims', async () => {
    const { accessToken } = await identity.gateway.issueToken({ apiKey: organization.liveApiKey });
    const { header, payload } = jwt.decode(accessToken, { complete: true }) as jwt.Jwt;
    const claims = payload as jwt.JwtPayload;
    const unsigned = jwt.sign(claims, '', { algorithm: 'none', keyid: header.kid ?? '' });
    const confused = jwt.sign(claims, (await identity.gateway.listSigningKeys({})).keys[0]?.n ?? '', {
      algorithm: 'HS256',
      keyid: header.kid ?? '',
    });
    const parts = accessToken.split('.');
    const tampered = [parts[0], Buffer.from(JSON.stringify({ ...claims, env: 'test' })).toString('base64url'), parts[2]].join('.');
    const namedNul = jwt.sign(claims, 'secret', { algorithm: 'HS256', keyid: 'k\0' });
    for (const token of [unsigned, confused, tampered, namedNul, `${accessToken}x`, accessToken.slice(0, -2), '..', 'a.b.c']) {
      expect(await refusalOf(token)).toBe('invalid_token');
    }
  });
});

describe('revocation', () => {
  const makeKey = () =>
    identity.operator.createKey({ organizationId: organization.organizationId, userId: organization.userId, environment: 'live' });

  test('ends a key and its tokens, and answers only when every lease on them is over', async () => {
    const key = await makeKey();
    const { accessToken } = await identity.gateway.issueToken({ apiKey: key.apiKey });
    const revoke = () => identity.as(admin, () => identity.gateway.revokeKey({ keyId: key.keyId }));
    expect(await identity.pausesDuring(revoke)).toEqual([1_200]);
    expect(await refusalOf(key.apiKey)).toBe('token_revoked');
    expect(await refusalOf(accessToken)).toBe('token_revoked');
    await expect(identity.gateway.issueToken({ apiKey: key.apiKey })).rejects.toMatchObject({ code: 'token_revoked' });
    await identity.as(admin, () => identity.gateway.revokeKey({ keyId: key.keyId }));
  });

  test('needs the admin flag, and finds only keys of its own tenant', async () => {
    const other = await identity.operator.createOrganization({ name: 'Other' });
    const foreign = await principalOf(other.liveApiKey);
    await expect(
      identity.as({ ...admin, admin: false }, () => identity.gateway.revokeKey({ keyId: admin.credentialId })),
    ).rejects.toMatchObject({ code: 'admin_required' });
    await expect(identity.as(foreign, () => identity.gateway.revokeKey({ keyId: admin.credentialId }))).rejects.toMatchObject({
      code: 'not_found',
    });
    await expect(
      identity.as({ ...admin, environment: 'test' }, () => identity.gateway.revokeKey({ keyId: admin.credentialId })),
    ).rejects.toMatchObject({ code: 'not_found' });
    expect(await refusalOf(organization.liveApiKey)).toBeUndefined();
  });

  test('of an application works the same', async () => {
    const client = await identity.operator.createOauthClient({ organizationId: organization.organizationId, environment: 'live' });
    const { accessToken } = await identity.gateway.issueClientToken({ clientId: client.clientId, clientSecret: client.clientSecret });
    expect(await refusalOf(accessToken)).toBeUndefined();
    await identity.operator.revokeOauthClient({ clientId: client.clientId });
    expect(await refusalOf(accessToken)).toBe('token_revoked');
    await expect(identity.gateway.issueClientToken({ clientId: client.clientId, clientSecret: client.clientSecret })).rejects.toMatchObject(
      { code: 'invalid_client' },
    );
  });
});

describe('client credentials', () => {
  test('the client is checked before the scope, and nothing is dropped silently', async () => {
    const client = await identity.operator.createOauthClient({
      organizationId: organization.organizationId,
      environment: 'test',
      scopes: ['agents:read', 'users:read'],
    });
    const ask = (clientSecret: string, scope: string) =>
      identity.gateway.issueClientToken({ clientId: client.clientId, clientSecret, scope });
    expect((await ask(client.clientSecret, '')).scope).toBe('agents:read users:read');
    expect((await ask(client.clientSecret, 'users:read')).scope).toBe('users:read');
    await expect(ask(client.clientSecret, 'agents:write')).rejects.toMatchObject({ code: 'invalid_scope' });
    await expect(ask('wrong', 'agents:write')).rejects.toMatchObject({ code: 'invalid_client' });
    await expect(identity.gateway.issueClientToken({ clientId: 'app_none', clientSecret: 'x' })).rejects.toMatchObject({
      code: 'invalid_client',
    });
  });
});

describe('users', () => {
  const create = (email: string, role = 'member') =>
    identity.as(admin, () => identity.gateway.createUser({ name: 'Someone', email, role }));
  const update = (userId: string, changes: object) => identity.as(admin, () => identity.gateway.updateUser({ userId, ...changes }));

  test('an address is unique in its organization, in any case of letters', async () => {
    await create('twice@acme.example');
    await expect(create('TWICE@acme.example')).rejects.toMatchObject({ code: 'email_taken', param: 'email' });
  });

  test('a registration does not wait for a change of another user, which may want the same address', async () => {
    await withDatabase(identity.url, async (change) => {
      await change.query(`begin; set search_path = identity`);
      await change.query(userStatements.lockOrganization, [admin.organizationId]);
      await expect(create('meanwhile@acme.example')).resolves.toMatchObject({ user: { email: 'meanwhile@acme.example' } });
    });
  });

  test('are listed newest first, page by page, each once, with an exact total', async () => {
    const fresh = await identity.operator.createOrganization({ name: 'Paged' });
    const caller = await principalOf(fresh.liveApiKey);
    const createdIds: string[] = [fresh.userId];
    for (let index = 0; index < 6; index += 1) {
      const { user } = await identity.as(caller, () =>
        identity.gateway.createUser({ name: `u${index}`, email: `u${index}@paged.example`, role: 'member' }),
      );
      createdIds.push(user?.id ?? '');
    }
    const listedIds: string[] = [];
    let cursor = '';
    do {
      const { users, page } = await identity.as(caller, () => identity.gateway.listUsers({ page: { limit: 3, cursor } }));
      listedIds.push(...users.map((user) => user.id));
      expect(page?.total).toBe('7');
      cursor = page?.nextCursor ?? '';
    } while (cursor);
    expect(listedIds).toEqual(createdIds.reverse());
    const members = await identity.as(caller, () => identity.gateway.listUsers({ page: { limit: 2 }, role: 'member' }));
    expect(members.page?.total).toBe('6');
    await expect(
      identity.as(caller, () => identity.gateway.listUsers({ page: { limit: 2, cursor: members.page?.nextCursor ?? '' } })),
    ).rejects.toMatchObject({ code: 'invalid_cursor' });
    await expect(
      identity.as(admin, () => identity.gateway.listUsers({ page: { limit: 2, cursor: members.page?.nextCursor ?? '' }, role: 'member' })),
    ).rejects.toMatchObject({ code: 'invalid_cursor' });
  });

  test('deactivation ends all credentials of the user for good', async () => {
    const { user } = await create('leaver@acme.example');
    const userId = user?.id ?? '';
    const key = await identity.operator.createKey({ organizationId: organization.organizationId, userId, environment: 'test' });
    expect((await update(userId, { status: 'deactivated' })).endedCredentials).toEqual({ apiKeys: 1, oauthApplications: 0 });
    expect(await refusalOf(key.apiKey)).toBe('token_revoked');
    await expect(
      identity.operator.createKey({ organizationId: organization.organizationId, userId, environment: 'test' }),
    ).rejects.toMatchObject({ code: 'user_deactivated' });
    await update(userId, { status: 'active' });
    expect(await refusalOf(key.apiKey)).toBe('token_revoked');
  });

  test('the last administrator stays, also when two are demoted at the same time', async () => {
    const fresh = await identity.operator.createOrganization({ name: 'Two admins' });
    const caller = await principalOf(fresh.liveApiKey);
    const { user } = await identity.as(caller, () =>
      identity.gateway.createUser({ name: 'Second', email: 'second@two.example', role: 'admin' }),
    );
    const second = { ...caller, userId: user?.id ?? '', credentialId: 'key_second' };
    const demote = (by: Principal, userId: string) => identity.as(by, () => identity.gateway.updateUser({ userId, role: 'member' }));
    const outcomes = await Promise.allSettled([demote(second, caller.userId), demote(caller, second.userId)]);
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1);
    expect(outcomes.find((outcome) => outcome.status === 'rejected')?.reason).toMatchObject({ code: 'last_admin' });
  });

  test('an administrator who is deactivated is none of those who stay', async () => {
    const caller = await principalOf((await identity.operator.createOrganization({ name: 'One active' })).liveApiKey);
    const update = (by: Principal, userId: string, change: object) =>
      identity.as(by, () => identity.gateway.updateUser({ userId, ...change }));
    const { user } = await identity.as(caller, () => identity.gateway.createUser({ name: 'B', email: 'b@one.example', role: 'admin' }));
    await update(caller, user?.id ?? '', { status: 'deactivated' });
    const demotion = update({ ...caller, userId: 'usr_other' }, caller.userId, { role: 'member' });
    await expect(demotion).rejects.toMatchObject({ code: 'last_admin' });
  });

  test('no user changes their own role or status, and only administrators make administrators', async () => {
    const fresh = await identity.operator.createOrganization({ name: 'Own' });
    const caller = await principalOf(fresh.liveApiKey);
    await identity.as(caller, () => identity.gateway.createUser({ name: 'Second', email: 'second@own.example', role: 'admin' }));
    for (const changes of [{ role: 'member' }, { status: 'deactivated' }]) {
      await expect(identity.as(caller, () => identity.gateway.updateUser({ userId: fresh.userId, ...changes }))).rejects.toMatchObject({
        code: 'own_role_or_status',
      });
    }
    await identity.as(caller, () => identity.gateway.updateUser({ userId: fresh.userId, name: 'Renamed', role: 'admin' }));
    const application: Principal = { ...caller, userId: 'usr_application', admin: false, role: '' };
    const make = (role: string) =>
      identity.as(application, () => identity.gateway.createUser({ name: 'Third', email: `third-${role}@own.example`, role }));
    await expect(make('admin')).rejects.toMatchObject({ code: 'admin_required' });
    const { user } = await make('member');
    await expect(
      identity.as(application, () => identity.gateway.updateUser({ userId: user?.id ?? '', role: 'admin' })),
    ).rejects.toMatchObject({ code: 'admin_required' });
  });

  test('an administrator can be demoted or deactivated by an administrator’s token only', async () => {
    const fresh = await identity.operator.createOrganization({ name: 'Guarded' });
    const caller = await principalOf(fresh.liveApiKey);
    await identity.as(caller, () => identity.gateway.createUser({ name: 'Second', email: 'second@guarded.example', role: 'admin' }));
    const plain = { ...caller, admin: false, environment: 'test' as const };
    for (const changes of [{ role: 'member' }, { status: 'deactivated' }]) {
      await expect(identity.as(plain, () => identity.gateway.updateUser({ userId: fresh.userId, ...changes }))).rejects.toMatchObject({
        code: 'admin_required',
      });
    }
    expect(await refusalOf(fresh.liveApiKey)).toBeUndefined();
    await identity.as(plain, () => identity.gateway.updateUser({ userId: fresh.userId, name: 'Renamed' }));
  });

  test('the e-mail address of a person can be changed by an administrator’s token only', async () => {
    const fresh = await identity.operator.createOrganization({ name: 'Addresses', email: 'first@addresses.example' });
    const caller = await principalOf(fresh.liveApiKey);
    const change = (by: Principal, userId: string, changes: object) =>
      identity.as(by, () => identity.gateway.updateUser({ userId, ...changes }));
    const register = async (email: string, role: string) =>
      (await identity.as(caller, () => identity.gateway.createUser({ name: 'Someone', email, role }))).user?.id ?? '';
    const former = await register('former@addresses.example', 'admin');
    await change(caller, former, { status: 'deactivated' });
    const plain: Principal = { ...caller, admin: false };
    const application: Principal = { ...plain, userId: 'usr_application', role: '' };
    const member = await register('member@addresses.example', 'member');
    for (const by of [plain, application]) {
      for (const userId of [fresh.userId, former, member])
        await expect(change(by, userId, { email: 'mine@evil.example' })).rejects.toMatchObject({ code: 'admin_required' });
    }
    await change(application, member, { name: 'Renamed', email: 'member@addresses.example' });
    expect((await change(caller, member, { email: 'moved@addresses.example' })).user?.email).toBe('moved@addresses.example');
    await change(application, fresh.userId, { name: 'Renamed', email: 'first@addresses.example' });
    expect((await change(caller, fresh.userId, { email: 'second@addresses.example' })).user?.email).toBe('second@addresses.example');
  });

  test('the user of an application is given no role, and is no administrator', async () => {
    const fresh = await identity.operator.createOrganization({ name: 'Applications' });
    const caller = await principalOf(fresh.liveApiKey);
    const application = await identity.operator.createOauthClient({ organizationId: fresh.organizationId, environment: 'live' });
    await expect(
      identity.as(caller, () => identity.gateway.updateUser({ userId: application.userId, role: 'admin' })),
    ).rejects.toMatchObject({ code: 'invalid_request', param: 'role' });
    await expect(identity.as(caller, () => identity.gateway.updateUser({ userId: fresh.userId, role: 'member' }))).rejects.toMatchObject({
      code: 'last_admin',
    });
  });

  test('operators can ask whether an organization exists', async () => {
    expect(await identity.operator.getOrganization({ organizationId: organization.organizationId })).toMatchObject({ name: 'Acme' });
    await expect(identity.operator.getOrganization({ organizationId: 'org_nope' })).rejects.toMatchObject({ code: 'not_found' });
    await expect(identity.gateway.getOrganization({ organizationId: 'org_nope' })).rejects.toMatchObject({ code: 'service_forbidden' });
  });

  test('the input of operators is checked as strictly as that of callers', async () => {
    const make = (changes: object) =>
      identity.as(admin, () => identity.operator.createUser({ name: 'Someone', email: 'fine@acme.example', role: 'member', ...changes }));
    for (const changes of [
      { email: 'nobody' },
      { email: '' },
      { email: `${'a'.repeat(250)}@x.io` },
      { name: '' },
      { name: 'x'.repeat(101) },
      { role: 'owner' },
    ]) {
      await expect(make(changes)).rejects.toMatchObject({ code: 'invalid_request' });
    }
    await expect(identity.operator.createOrganization({ name: 'Typo', email: 'nobody' })).rejects.toMatchObject({
      code: 'invalid_request',
      param: 'email',
    });
    await expect(
      identity.operator.createKey({
        organizationId: organization.organizationId,
        userId: organization.userId,
        environment: 'live',
        tokenTtlSeconds: 299,
      }),
    ).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('an effect under one idempotency key happens once; another body is refused', async () => {
    const request = { name: 'Once', email: 'once@acme.example', role: 'member' };
    const key = { scope: 'acme/live/POST/users/k1', fingerprint: 'a' };
    const post = (idempotency: typeof key) => identity.as(admin, () => identity.gateway.createUser(request), idempotency);
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => post(key)));
    const ids = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.user?.id] : []));
    expect(new Set(ids).size).toBe(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'idempotency_in_progress' });
    expect((await post(key)).user?.id).toBe(ids[0]);
    await expect(post({ ...key, fingerprint: 'b' })).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  });
});
