import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, type Principal } from '@agent-service/contracts';
import { until, withDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createKeyedHash } from '../src/domain/secrets.ts';
import { boot, keyHashSecret } from './boot.ts';
import { lockUser, outcomeOf, type PortalWorld, password, passwordChange, passwordRehash, portalWorld } from './portal-world.ts';

let world: PortalWorld;
beforeAll(async () => {
  world = await portalWorld();
});
afterAll(() => world?.stop());

const administrator = (organizationId: string): Principal => ({
  organizationId,
  environment: 'live',
  userId: '',
  credentialId: '',
  scopes: ['users:write', 'users:read', 'audit:read'],
  admin: true,
  role: 'admin',
});

async function addMember(organizationId: string, email: string): Promise<string> {
  const { service } = world;
  const { user } = await service.as(administrator(organizationId), () => service.gateway.createUser({ name: 'M', email, role: 'member' }));
  const userId = user?.id ?? '';
  await service.operator.setUserPassword({ organizationId, userId, password });
  return userId;
}

const authenticate = async (token: string) => (await world.service.gateway.authenticate({ tokens: [token] })).results[0];

describe('a session', () => {
  test('has a short token with everything that the present role allows, until it ends', async () => {
    const { portal, service } = world;
    const { email, organizationId, userId } = await world.makeOrganization();
    const sessionToken = await world.signIn(email.toUpperCase());
    const { session } = await portal.resumeSession({ sessionToken });
    expect(session).toMatchObject({ organizationId, user: { id: userId, email, role: 'admin' }, twoFactor: false, hasPassword: true });
    const { accessToken, expiresIn } = await portal.issueSessionToken({ sessionToken, environment: 'test' });
    expect(expiresIn).toBeLessThanOrEqual(300);
    const principal = (await authenticate(accessToken))?.principal as Principal;
    expect(principal).toMatchObject({ organizationId, userId, environment: 'test', admin: true, role: 'admin', credentialId: session?.id });
    expect(principal.scopes).toContain('agents:write');
    expect(principal.scopes).not.toContain('users:write');
    const self = await service.as(principal, () => service.gateway.getSelf({}));
    expect(self.credentialType).toBe('session');
    await portal.endSession({ sessionToken });
    expect((await authenticate(accessToken))?.refusal).toBe('token_revoked');
    expect(await outcomeOf(portal.resumeSession({ sessionToken }))).toBe('unauthorized');
  });

  test('makes a token for a page of an end user and leaves no use behind that outlives it', async () => {
    const { portal, service } = world;
    const { email } = await world.makeOrganization();
    const { liveApiKey } = await service.operator.createOrganization({ name: 'Key' });
    const { accessToken } = await portal.issueSessionToken({ sessionToken: await world.signIn(email), environment: 'live' });
    const principal = (await authenticate(accessToken))?.principal as Principal;
    await service.as(principal, () => service.gateway.issueAgentToken({ agentId: 'agt_1', expiresIn: 60 }));
    const keyId = (await authenticate(liveApiKey))?.principal?.credentialId;
    // Its use is written together with those before it.
    const used = async () => (await world.database('select credential_id from identity.credential_uses')).map((row) => row.credential_id);
    await until('the use of the key is written', async () => (await used()).includes(keyId));
    expect(await used()).not.toContain(principal.credentialId);
  });

  test('ends once where identity has two replicas, which answer when it is refused everywhere', async () => {
    const { email } = await world.makeOrganization();
    const [other, own] = [await world.signIn(email), await world.signIn(email)];
    const { session } = await world.portal.resumeSession({ sessionToken: other });
    const replicas = await Promise.all([1, 2].map(() => boot({ DATABASE_URL: world.service.url }, sleep)));
    const portal = createClient('identity', {
      address: `ipv4:${replicas.map(({ address }) => address).join(',')}`,
      as: 'portal',
      config: world.service.config,
    });
    try {
      await portal.endSession({ sessionToken: own, sessionId: session?.id ?? '' });
      expect(await portal.endSessions({ sessionToken: own })).toEqual({ ended: 1 });
    } finally {
      portal.close();
      for (const replica of replicas) await replica.stop();
    }
  });

  test('does not end after its browser was told that this took too long', async () => {
    const { portal, service } = world;
    const { email, userId } = await world.makeOrganization();
    const sessionToken = await world.signIn(email);
    await withDatabase(service.url, async (client) => {
      const busy = `select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`;
      await client.query('begin; set local search_path = identity');
      await client.query(lockUser, [userId]);
      expect(await outcomeOf(portal.endSessions({ sessionToken }, { timeoutMs: 300 }))).toBe('deadline_exceeded');
      expect((await client.query(busy)).rowCount).toBe(1);
      await client.query('commit');
      await until('the change is over', async () => (await client.query(busy)).rowCount === 0);
    });
    expect(await outcomeOf(portal.resumeSession({ sessionToken }))).toBe('ok');
  });

  test('loses the rights of an administrator with the role, and everything when its user is deactivated', async () => {
    const { portal, service } = world;
    const { email, organizationId } = await world.makeOrganization();
    const other = await addMember(organizationId, `second-${email}`);
    const asAdmin = (work: () => Promise<unknown>) => service.as({ ...administrator(organizationId), userId: 'usr_other' }, work);
    const change = (changes: object) => asAdmin(() => service.gateway.updateUser({ userId: other, ...changes }));
    await change({ role: 'admin' });
    const sessionToken = await world.signIn(`second-${email}`);
    const { accessToken } = await portal.issueSessionToken({ sessionToken, environment: 'live' });
    await change({ role: 'member' });
    expect((await authenticate(accessToken))?.principal).toMatchObject({ admin: false, role: 'member' });
    expect((await authenticate(accessToken))?.principal?.scopes).not.toContain('users:write');
    expect(await outcomeOf(portal.listInvitations({ sessionToken }))).toBe('admin_required');
    await change({ status: 'deactivated' });
    expect((await authenticate(accessToken))?.refusal).toBe('token_revoked');
    expect(await outcomeOf(portal.issueSessionToken({ sessionToken, environment: 'live' }))).toBe('unauthorized');
    expect(await outcomeOf(world.signIn(`second-${email}`))).toBe('invalid_credentials');
    await change({ status: 'active' });
    expect(await outcomeOf(portal.resumeSession({ sessionToken }))).toBe('unauthorized');
  });

  test('ends when it was not used for long, and at its end however much it is used', async () => {
    const { portal } = world;
    const { email } = await world.makeOrganization();
    const [idle, old, used] = [await world.signIn(email), await world.signIn(email), await world.signIn(email)];
    const idOf = async (sessionToken: string) => (await portal.resumeSession({ sessionToken })).session?.id;
    // The times of the rows are moved, as if the database's clock had gone on.
    const age = async (token: string, seconds: number) =>
      world.database(
        `update identity.portal_sessions set created_at = created_at - $2 * interval '1 second', last_used_at = last_used_at - $2 * interval '1 second',
           ends_at = ends_at - $2 * interval '1 second', expires_at = expires_at - $2 * interval '1 second' where id = $1`,
        [await idOf(token), seconds],
      );
    await age(idle, 7_201);
    expect(await outcomeOf(portal.resumeSession({ sessionToken: idle }))).toBe('unauthorized');
    for (let hours = 0; hours < 23; hours += 1) {
      await age(used, 3_600);
      expect(await outcomeOf(portal.resumeSession({ sessionToken: used }))).toBe('ok');
    }
    await age(used, 3_601);
    expect(await outcomeOf(portal.resumeSession({ sessionToken: used }))).toBe('unauthorized');
    expect(await outcomeOf(portal.resumeSession({ sessionToken: old }))).toBe('ok');
    expect((await portal.listSessions({ sessionToken: old })).sessions.map(({ current }) => current)).toEqual([true]);
  });

  test('that ends after a minute without use ends a minute after its last use, but for six seconds', async () => {
    const short = await portalWorld({ SESSION_IDLE_SECONDS: '60' });
    try {
      const sessionToken = await short.signIn((await short.makeOrganization()).email);
      for (const seconds of [29, 45]) {
        await short.database(
          `update identity.portal_sessions set last_used_at = last_used_at - $1 * interval '1 second', ends_at = ends_at - $1 * interval '1 second'`,
          [seconds],
        );
        expect(await outcomeOf(short.portal.resumeSession({ sessionToken }))).toBe('ok');
      }
    } finally {
      await short.stop();
    }
  });

  test('can end every session of its user, and none of another user', async () => {
    const { portal } = world;
    const [one, other] = [await world.makeOrganization(), await world.makeOrganization()];
    const tokens = [await world.signIn(one.email), await world.signIn(one.email)];
    const foreign = await world.signIn(other.email);
    const foreignId = (await portal.resumeSession({ sessionToken: foreign })).session?.id ?? '';
    const [sessionToken = ''] = tokens;
    expect(await outcomeOf(portal.endSession({ sessionToken, sessionId: foreignId }))).toBe('not_found');
    expect(await outcomeOf(portal.endSession({ sessionToken, sessionId: 'ses_\0' }))).toBe('invalid_request');
    const { sessions } = await portal.listSessions({ sessionToken });
    expect(sessions).toHaveLength(2);
    expect(sessions.filter(({ current }) => current)).toHaveLength(1);
    expect((await portal.endSessions({ sessionToken })).ended).toBe(2);
    for (const each of tokens) expect(await outcomeOf(portal.resumeSession({ sessionToken: each }))).toBe('unauthorized');
    expect(await outcomeOf(portal.resumeSession({ sessionToken: foreign }))).toBe('ok');
  });

  test('is one of at most twenty of its user, and replaces the one that the browser had', async () => {
    const { portal } = world;
    const { email } = await world.makeOrganization();
    const first = await world.signIn(email);
    const second = await world.signIn(email, { previousSessionToken: first });
    expect(second).not.toBe(first);
    expect(await outcomeOf(portal.resumeSession({ sessionToken: first }))).toBe('unauthorized');
    for (let count = 0; count < 20; count += 1) await world.signIn(email);
    const newest = await world.signIn(email);
    expect((await portal.listSessions({ sessionToken: newest })).sessions).toHaveLength(20);
    expect(await outcomeOf(portal.resumeSession({ sessionToken: second }))).toBe('unauthorized');
  });

  test('is one of at most twenty also where two are opened at once', async () => {
    const { email, organizationId, userId } = await world.makeOrganization();
    await world.database(
      `insert into identity.portal_sessions
         (organization_id, id, user_id, token_hash, method, address, user_agent, created_at, last_used_at, ends_at, expires_at)
       select $1, 'ses_many_' || n, $2, 'many ' || n, 'password', '', '', now(), now() - n * interval '1 minute', now() + interval '1 hour',
         now() + interval '1 hour' from generate_series(1, 20) n`,
      [organizationId, userId],
    );
    let second: Promise<string> | undefined;
    const first = await world.outcomeBehind(
      [[`select 1 from portal_sessions where id = 'ses_many_20' for update`]],
      () => world.signIn(email),
      () => {
        second = outcomeOf(world.signIn(email));
      },
    );
    expect([first, await second]).toEqual(['ok', 'ok']);
    expect(await world.database('select 1 from identity.portal_sessions where user_id = $1', [userId])).toHaveLength(20);
  });

  test('is stored as a hash only', async () => {
    const { email } = await world.makeOrganization();
    const token = await world.signIn(email);
    const rows = await world.database('select * from identity.portal_sessions');
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toContain(token);
    const passwords = await world.database('select hash from identity.passwords');
    for (const { hash } of passwords) expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  });
});

describe('a sign-in', () => {
  test('gets no session if its password is changed after it was verified, and one if it is only hashed again', async () => {
    const { email, userId } = await world.makeOrganization();
    const attempt = () => world.portal.signIn({ email, password, client: world.browser() });
    expect(await world.outcomeBehind(passwordChange(userId), attempt)).toBe('invalid_credentials');
    expect(await world.database('select 1 from identity.portal_sessions where user_id = $1', [userId])).toEqual([]);
    expect(await world.outcomeBehind(passwordRehash(userId), attempt)).toBe('ok');
  });

  test('gets no session if the e-mail address of its user is changed after it was verified', async () => {
    const { email, userId } = await world.makeOrganization();
    const change = [[lockUser, userId] as const, [`update users set email = 'new-' || email where id = $1`, userId] as const];
    expect(await world.outcomeBehind(change, () => world.signIn(email))).toBe('invalid_credentials');
    expect(await world.database('select 1 from identity.portal_sessions where user_id = $1', [userId])).toEqual([]);
    expect(await outcomeOf(world.signIn(`new-${email}`))).toBe('ok');
  });

  test('gets one answer for an unknown address, a wrong password and a user without one', async () => {
    const { email, organizationId } = await world.makeOrganization();
    const { service } = world;
    const without = `without-${email}`;
    await service.as(administrator(organizationId), () => service.gateway.createUser({ name: 'W', email: without, role: 'member' }));
    const answers = await Promise.all(
      [email, without, 'unknown@acme.example'].map((each) =>
        world.signIn(each, { password: 'a wrong password' }).catch((cause: Error) => [cause.message, (cause as { code?: string }).code]),
      ),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]).toEqual([expect.any(String), 'invalid_credentials']);
  });

  test('with the password of users of several organizations names one of them', async () => {
    const email = 'shared@agency.example';
    const [one, two, third] = [
      await world.makeOrganization(email),
      await world.makeOrganization(email),
      await world.makeOrganization(email, 'another long password'),
    ];
    const refusal = await world
      .signIn(email)
      .catch((cause: unknown) => cause as { code: string; details: { organizations: { id: string }[] } });
    expect(refusal).toMatchObject({ code: 'organization_required' });
    const { organizations } = (refusal as { details: { organizations: { id: string }[] } }).details;
    expect(organizations.map(({ id }) => id).sort()).toEqual([one.organizationId, two.organizationId].sort());
    const sessionToken = await world.signIn(email, { organizationId: two.organizationId });
    expect((await world.portal.resumeSession({ sessionToken })).session?.organizationId).toBe(two.organizationId);
    expect(await outcomeOf(world.signIn(email, { organizationId: third.organizationId }))).toBe('invalid_credentials');
    expect(await outcomeOf(world.signIn(email, { password: 'another long password' }))).toBe('ok');
  });

  test('with the right password that asks for a code does not count as a failure', async () => {
    const email = 'two-factor@agency.example';
    const { userId } = await world.makeOrganization(email);
    const sessionToken = await world.signIn(email);
    // A success with one password does not forget failures at that of the other user.
    await world.makeOrganization(email, 'another long password');
    await world.portal.beginTwoFactor({ sessionToken, password });
    const codes = Array.from({ length: 8 }, (_, n) => `RECOVERYCODE${n}`);
    const hashes = codes.map((code) => createKeyedHash([keyHashSecret])(`recovery\n${userId}\n${code}`));
    const confirm = 'update identity.two_factors set confirmed_at = now(), recovery_hashes = $2 where user_id = $1';
    await world.database(confirm, [userId, hashes]);
    const client = world.browser();
    for (const code of codes) {
      expect(await outcomeOf(world.signIn(email, { client }))).toBe('code_required');
      expect(await outcomeOf(world.signIn(email, { client, code }))).toBe('ok');
    }
  });

  test('is not delayed at the code after mistakes with the password', async () => {
    const email = 'mistaken@agency.example';
    const { userId } = await world.makeOrganization(email);
    const sessionToken = await world.signIn(email);
    await world.portal.beginTwoFactor({ sessionToken, password });
    const hash = createKeyedHash([keyHashSecret])(`recovery\n${userId}\nRECOVERYCODE`);
    await world.database('update identity.two_factors set confirmed_at = now(), recovery_hashes = $2 where user_id = $1', [userId, [hash]]);
    const client = world.browser();
    for (let count = 0; count < 4; count += 1)
      expect(await outcomeOf(world.signIn(email, { password: 'a wrong password', client }))).toBe('invalid_credentials');
    expect(await outcomeOf(world.signIn(email, { client }))).toBe('code_required');
    expect(await outcomeOf(world.signIn(email, { client, code: 'RECOVERYCODE' }))).toBe('ok');
  });

  test('works after the e-mail address of the user was changed', async () => {
    const { service } = world;
    const { email, organizationId, userId } = await world.makeOrganization();
    const changed = `new-${email}`;
    await service.as(administrator(organizationId), () => service.gateway.updateUser({ userId, email: changed }));
    expect(await outcomeOf(world.signIn(changed))).toBe('ok');
    expect(await outcomeOf(world.signIn(changed))).toBe('ok');
    expect(await outcomeOf(world.signIn(email))).toBe('invalid_credentials');
  });
});

describe('only the portal', () => {
  test('may call the methods of sessions', async () => {
    const { service } = world;
    for (const client of [service.gateway, service.operator]) {
      expect(await outcomeOf(client.signIn({ email: 'a@b.example', password }))).toBe('service_forbidden');
      expect(await outcomeOf(client.issueSessionToken({ sessionToken: 'x', environment: 'live' }))).toBe('service_forbidden');
    }
    expect(await outcomeOf(world.portal.setUserPassword({ organizationId: 'org_1', userId: 'usr_1', password }))).toBe('service_forbidden');
    expect(await outcomeOf(world.portal.authenticate({ tokens: [] }))).toBe('service_forbidden');
  });
});
