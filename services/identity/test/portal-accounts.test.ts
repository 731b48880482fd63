import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  administrator,
  endOfSessions,
  outcomeOf,
  type PortalWorld,
  password,
  passwordChange,
  passwordRehash,
  portalWorld,
  undisturbed,
} from './portal-world.ts';

let world: PortalWorld;
beforeAll(async () => {
  world = await portalWorld();
});
afterAll(() => world?.stop());

const newPassword = 'a quite different phrase';

describe('a password', () => {
  test('is changed by a user who gives the present one, which ends the other sessions', async () => {
    const { portal } = world;
    const { email } = await world.makeOrganization();
    const [sessionToken, other] = [await world.signIn(email), await world.signIn(email)];
    const change = (currentPassword: string, next: string) =>
      outcomeOf(portal.changePassword({ sessionToken, currentPassword, newPassword: next }));
    expect(await change('a wrong password', newPassword)).toBe('invalid_request');
    for (const weak of ['short', 'aaaaaaaaaaaaaaaa', `${email}`, 'x'.repeat(257)])
      expect(await change(password, weak)).toBe('invalid_request');
    expect(await change(password, newPassword)).toBe('ok');
    expect(await outcomeOf(portal.resumeSession({ sessionToken }))).toBe('ok');
    expect(await outcomeOf(portal.resumeSession({ sessionToken: other }))).toBe('unauthorized');
    expect(await outcomeOf(world.signIn(email))).toBe('invalid_credentials');
    expect(await outcomeOf(world.signIn(email, { password: newPassword }))).toBe('ok');
  });

  test('is reset by a link of an administrator of the organization, once and in time', async () => {
    const { portal } = world;
    const [{ email: adminEmail, userId: adminId, organizationId }, other] = [
      await world.makeOrganization(),
      await world.makeOrganization(),
    ];
    const [adminToken, foreign] = [await world.signIn(adminEmail), await world.signIn(other.email)];
    // A session alone, which may be stolen, leads to no password of its own user.
    expect(await outcomeOf(portal.createPasswordReset({ sessionToken: adminToken, userId: adminId }))).toBe('invalid_request');
    const email = `colleague-${adminEmail}`;
    const { token } = await portal.createInvitation({ sessionToken: adminToken, email, role: 'member' });
    const accepted = await portal.acceptInvitation({ token, name: 'Colleague', password, client: world.browser() });
    const userId = accepted.opened?.session?.user?.id ?? '';
    const sessionToken = accepted.opened?.sessionToken ?? '';
    expect(await outcomeOf(portal.createPasswordReset({ sessionToken: foreign, userId }))).toBe('not_found');
    expect(await outcomeOf(portal.createPasswordReset({ sessionToken: foreign, userId, organizationId }))).toBe('not_found');
    const first = await portal.createPasswordReset({ sessionToken: adminToken, userId });
    const second = await portal.createPasswordReset({ sessionToken: adminToken, userId });
    expect(await outcomeOf(portal.resetPassword({ token: first.token, password: newPassword }))).toBe('not_found');
    expect(await outcomeOf(portal.resetPassword({ token: second.token, password: newPassword }))).toBe('ok');
    expect(await outcomeOf(portal.resetPassword({ token: second.token, password }))).toBe('not_found');
    expect(await outcomeOf(portal.resumeSession({ sessionToken }))).toBe('unauthorized');
    expect(await outcomeOf(world.signIn(email, { password: newPassword }))).toBe('ok');
    const third = await world.service.operator.createPasswordReset({ organizationId, userId });
    await world.database(`update identity.password_resets set expires_at = now() - interval '1 second'`);
    expect(await outcomeOf(portal.resetPassword({ token: third.token, password }))).toBe('not_found');
  });
});

describe('an invitation', () => {
  const accept = (token: string) =>
    world.portal.acceptInvitation({ token, name: 'Invited', password: newPassword, client: world.browser() });

  test('makes a user with its role, once', async () => {
    const { portal } = world;
    const { email, organizationId } = await world.makeOrganization();
    const sessionToken = await world.signIn(email);
    const { token, invitation } = await portal.createInvitation({ sessionToken, email: 'invited@acme.example', role: 'member' });
    expect((await portal.getInvitation({ token })).invitation).toMatchObject({ id: invitation?.id, organizationId });
    const outcomes = await Promise.all([outcomeOf(accept(token)), outcomeOf(accept(token))]);
    expect(outcomes.sort()).toEqual(['not_found', 'ok']);
    expect(await outcomeOf(accept(token))).toBe('not_found');
    const invited = await world.signIn('invited@acme.example', { password: newPassword });
    expect((await portal.resumeSession({ sessionToken: invited })).session).toMatchObject({ organizationId, user: { role: 'member' } });
    const calls = [
      portal.createInvitation({ sessionToken: invited, email: 'other@acme.example', role: 'admin' }),
      portal.listInvitations({ sessionToken: invited }),
      portal.deleteInvitation({ sessionToken: invited, invitationId: 'inv_1' }),
      portal.createPasswordReset({ sessionToken: invited, userId: 'usr_1' }),
    ];
    expect(await Promise.all(calls.map(outcomeOf))).toEqual(calls.map(() => 'admin_required'));
    expect(await outcomeOf(portal.createInvitation({ sessionToken, email: 'INVITED@acme.example', role: 'member' }))).toBe('email_taken');
  });

  test('of one address is made twice at the same time without a failure, and one of them stays', async () => {
    const { portal } = world;
    const sessionToken = await world.signIn((await world.makeOrganization()).email);
    const invite = () => portal.createInvitation({ sessionToken, email: 'at-once@acme.example', role: 'member' });
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => outcomeOf(invite())));
    // The link of an invitation that was replaced before its answer is of no use, and the answer says so.
    for (const outcome of outcomes) expect(['ok', 'not_found']).toContain(outcome);
    expect(outcomes).toContain('ok');
    expect((await portal.listInvitations({ sessionToken })).invitations).toHaveLength(1);
  });

  test('is one of at most 200 of its organization, also when two are made at once', async () => {
    const { portal } = world;
    // One replica makes them one after the other.
    const replica = await portalWorld({ DATABASE_URL: world.service.url });
    const { email, organizationId, userId } = await world.makeOrganization();
    const sessionToken = await world.signIn(email);
    await world.database(
      `insert into identity.invitations (organization_id, id, email, name, role, token_hash, created_by, created_at, expires_at)
       select $1, 'inv_many_' || n, 'many' || n || '@acme.example', '', 'member', 'many ' || n, $2, now(), now() + interval '1 hour'
       from generate_series(1, 199) n`,
      [organizationId, userId],
    );
    const invite = (to: string, by = portal) => by.createInvitation({ sessionToken, email: to, role: 'member' });
    let second: Promise<string> | undefined;
    const first = await world.outcomeBehind(
      [['lock table invitations in share mode']],
      () => invite('first@acme.example'),
      () => void (second = outcomeOf(invite('second@acme.example', replica.portal))),
    );
    expect([first, await second].sort()).toEqual(['credential_limit_reached', 'ok']);
    // It takes the place of the one before.
    expect(await outcomeOf(invite('many1@acme.example'))).toBe('ok');
    expect((await portal.listInvitations({ sessionToken })).invitations).toHaveLength(200);
    await replica.stop();
  });

  test('is not used up by a name that is refused', async () => {
    const { portal } = world;
    const sessionToken = await world.signIn((await world.makeOrganization()).email);
    const { token } = await portal.createInvitation({ sessionToken, email: 'named@acme.example', role: 'member' });
    const acceptAs = (name: string) => outcomeOf(portal.acceptInvitation({ token, name, password: newPassword, client: world.browser() }));
    expect([await acceptAs(''), await acceptAs('Named')]).toEqual(['invalid_request', 'ok']);
  });

  test('ends with its time, when it is withdrawn and when it is replaced, and belongs to its organization', async () => {
    const { portal } = world;
    const [one, other] = [await world.makeOrganization(), await world.makeOrganization()];
    const [sessionToken, foreign] = [await world.signIn(one.email), await world.signIn(other.email)];
    const invite = (email: string) => portal.createInvitation({ sessionToken, email, role: 'member' });
    const [late, withdrawn, replaced] = [await invite('late@a.example'), await invite('with@a.example'), await invite('twice@a.example')];
    const replacement = await invite('TWICE@a.example');
    await world.database(`update identity.invitations set expires_at = now() - interval '1 second' where id = $1`, [late.invitation?.id]);
    const invitationId = withdrawn.invitation?.id ?? '';
    expect(await outcomeOf(portal.deleteInvitation({ sessionToken: foreign, invitationId }))).toBe('not_found');
    expect((await portal.listInvitations({ sessionToken: foreign })).invitations).toEqual([]);
    expect(await outcomeOf(portal.deleteInvitation({ sessionToken, invitationId }))).toBe('ok');
    for (const { token } of [late, withdrawn, replaced]) expect(await outcomeOf(accept(token))).toBe('not_found');
    expect(await outcomeOf(accept(replacement.token))).toBe('ok');
    expect((await portal.listInvitations({ sessionToken })).invitations).toEqual([]);
  });

  test('is not made by an administrator who is demoted at the same time', async () => {
    const { email, userId } = await world.makeOrganization();
    const sessionToken = await world.signIn(email);
    const demotion = [`update users set role = 'member' where id = $1`, userId] as const;
    const invite = () => world.portal.createInvitation({ sessionToken, email: `late-${email}`, role: 'admin' });
    expect(await world.outcomeBehind([demotion], invite)).toBe('admin_required');
    expect(await world.database('select 1 from identity.invitations where created_by = $1', [userId])).toEqual([]);
  });

  test('is not made after the session that asks for it has ended', async () => {
    const { email, userId } = await world.makeOrganization();
    const sessionToken = await world.signIn(email);
    const invite = () => world.portal.createInvitation({ sessionToken, email: `ended-${email}`, role: 'admin' });
    expect(await world.outcomeBehind(endOfSessions(userId), invite)).toBe('unauthorized');
    expect(await world.database('select 1 from identity.invitations where created_by = $1', [userId])).toEqual([]);
  });

  test('is accepted while its maker is demoted: neither change fails for the other', async () => {
    const outcomes = await undisturbed(async () => {
      const { email, organizationId, userId } = await world.makeOrganization();
      const { portal, service } = world;
      const asOther = <T>(work: () => Promise<T>) => service.as(administrator(organizationId, 'usr_other'), work);
      const user = (name: string, role: string) => service.gateway.createUser({ name, email: `${name}-${email}`, role });
      await asOther(() => user('second', 'admin'));
      await asOther(() => user('member', 'member'));
      const { token } = await portal.createInvitation({ sessionToken: await world.signIn(email), email: `in-${email}`, role: 'member' });
      const counts = [`select 1 from user_counts where organization_id = $1 and role = 'member' for update`, organizationId] as const;
      let acceptance: Promise<string> | undefined;
      const demote = () => asOther(() => service.gateway.updateUser({ userId, role: 'member' }));
      const demotion = await world.outcomeBehind([counts], demote, () => {
        acceptance = outcomeOf(accept(token));
      });
      return [demotion, await acceptance];
    });
    expect(outcomes).toEqual(['ok', 'not_found']);
  });
});

test('a password that the operator sets ends the sessions of its user, also where it is the present one', async () => {
  const { email, ...user } = await world.makeOrganization();
  const { operator } = world.service;
  const sessionToken = await world.signIn(email);
  expect(await operator.setUserPassword({ ...user, password, unlessSame: true })).toEqual({ changed: false });
  expect(await outcomeOf(world.portal.resumeSession({ sessionToken }))).toBe('ok');
  expect(await operator.setUserPassword({ ...user, password })).toEqual({ changed: true });
  expect(await outcomeOf(world.portal.resumeSession({ sessionToken }))).toBe('unauthorized');
});

test('links that an administrator made end with the rights of the administrator, and a reset with a change of the password', async () => {
  const { portal, service } = world;
  const first = await world.makeOrganization();
  const { organizationId } = first;
  const firstToken = await world.signIn(first.email);
  const inviteAdmin = async (sessionToken: string, email: string) =>
    (await portal.createInvitation({ sessionToken, email, role: 'admin' })).token;
  const second = 'second-admin@links.example';
  await portal.acceptInvitation({ token: await inviteAdmin(firstToken, second), name: 'Second', password, client: world.browser() });
  const secondToken = await world.signIn(second);
  const back = await inviteAdmin(secondToken, 'back@links.example');
  const { token: reset } = await portal.createPasswordReset({ sessionToken: secondToken, userId: first.userId });
  const secondId = (await portal.resumeSession({ sessionToken: secondToken })).session?.user?.id ?? '';
  const { userId } = first;
  const principal = administrator(organizationId, userId);
  await service.as(principal, () => service.gateway.updateUser({ userId: secondId, role: 'member' }));
  expect((await portal.listInvitations({ sessionToken: firstToken })).invitations).toEqual([]);
  expect(await outcomeOf(portal.getInvitation({ token: back }))).toBe('not_found');
  const acceptance = portal.acceptInvitation({ token: back, name: 'Back', password: newPassword, client: world.browser() });
  expect(await outcomeOf(acceptance)).toBe('not_found');
  expect(await outcomeOf(portal.resetPassword({ token: reset, password: newPassword }))).toBe('not_found');
  await service.as(principal, () => service.gateway.updateUser({ userId: secondId, role: 'admin' }));
  expect(await outcomeOf(portal.getInvitation({ token: back }))).toBe('not_found');

  const { token: older } = await service.operator.createPasswordReset({ organizationId, userId: first.userId });
  await portal.changePassword({ sessionToken: firstToken, currentPassword: password, newPassword });
  expect(await outcomeOf(portal.resetPassword({ token: older, password }))).toBe('not_found');
});

describe('a change that was confirmed with a password has no effect after the password was changed', () => {
  const works = {
    changePassword: (sessionToken: string) => world.portal.changePassword({ sessionToken, currentPassword: password, newPassword }),
    beginTwoFactor: (sessionToken: string) => world.portal.beginTwoFactor({ sessionToken, password }),
    removeTwoFactor: (sessionToken: string) => world.portal.removeTwoFactor({ sessionToken, password }),
  };
  const hashOf = (userId: string) => world.database('select hash from identity.passwords where user_id = $1', [userId]);

  /** A user who is signed in, with what the work changes. */
  async function makeUser(work: string) {
    const { email, userId } = await world.makeOrganization();
    const sessionToken = await world.signIn(email);
    if (work === 'removeTwoFactor') await world.portal.beginTwoFactor({ sessionToken, password });
    const factors = () => world.database('select secret from identity.two_factors where user_id = $1', [userId]);
    return { userId, sessionToken, stored: async () => [await hashOf(userId), await factors()] };
  }

  test.each(Object.entries(works))('%s', async (name, work) => {
    const { userId, sessionToken, stored } = await makeUser(name);
    const before = await stored();
    expect(await world.outcomeBehind(passwordChange(userId), () => work(sessionToken))).toBe('invalid_request');
    expect(await stored()).toEqual(before);
    expect(await world.outcomeBehind(passwordRehash(userId), () => work(sessionToken))).toBe('ok');
  });

  test.each(Object.entries(works))('nor after the session has ended: %s', async (name, work) => {
    const { userId, sessionToken, stored } = await makeUser(name);
    const before = await stored();
    expect(await world.outcomeBehind(endOfSessions(userId), () => work(sessionToken))).toBe('unauthorized');
    expect(await stored()).toEqual(before);
  });

  test('also where the user had no password', async () => {
    const { email, userId, organizationId } = await world.makeOrganization();
    const sessionToken = await world.signIn(email);
    await world.database('delete from identity.passwords where user_id = $1', [userId]);
    const addition = [
      passwordChange(userId)[0] ?? [''],
      [`insert into passwords (organization_id, user_id, hash, changed_at) values ($1, $2, 'x', now())`, organizationId, userId],
    ] as const;
    const change = () => world.portal.changePassword({ sessionToken, currentPassword: '', newPassword });
    expect(await world.outcomeBehind(addition, change)).toBe('invalid_request');
    expect(await hashOf(userId)).toEqual([{ hash: 'x' }]);
  });
});

describe('a link to set a password', () => {
  async function makeTeam() {
    const first = await world.makeOrganization();
    const sessionToken = await world.signIn(first.email);
    const email = `colleague-${first.email}`;
    const { token } = await world.portal.createInvitation({ sessionToken, email, role: 'admin' });
    const accepted = await world.portal.acceptInvitation({ token, name: 'Colleague', password, client: world.browser() });
    const colleague = { userId: accepted.opened?.session?.user?.id ?? '', sessionToken: accepted.opened?.sessionToken ?? '' };
    const principal = administrator(first.organizationId, first.userId);
    const change = (changes: object) =>
      world.service.as(principal, () => world.service.gateway.updateUser({ userId: colleague.userId, ...changes }));
    return { ...first, sessionToken, colleague, change };
  }
  const reset = (token: string) => outcomeOf(world.portal.resetPassword({ token, password: newPassword }));

  test('ends with each change of the address, the role or the status of its user, and with no other', async () => {
    const { sessionToken, colleague, change, email } = await makeTeam();
    const link = async () => (await world.portal.createPasswordReset({ sessionToken, userId: colleague.userId })).token;
    let token = await link();
    for (const changes of [{ role: 'member' }, { email: `moved-${email}` }, { role: 'admin' }]) {
      await change(changes);
      expect([changes, await reset(token)]).toEqual([changes, 'not_found']);
      token = await link();
    }
    await change({ status: 'deactivated' });
    await change({ status: 'active' });
    expect(await reset(token)).toBe('not_found');
    token = await link();
    await change({ name: 'Renamed' });
    expect(await reset(token)).toBe('ok');
  });

  test('is not made by an administrator who is demoted at the same time', async () => {
    const { userId, colleague } = await makeTeam();
    const demotion = [`update users set role = 'member' where id = $1`, colleague.userId] as const;
    const { sessionToken } = colleague;
    const outcome = await world.outcomeBehind([demotion], () => world.portal.createPasswordReset({ sessionToken, userId }));
    expect(outcome).toBe('admin_required');
  });

  test('is not made after the session that asks for it has ended', async () => {
    const { userId, colleague } = await makeTeam();
    const create = () => world.portal.createPasswordReset({ sessionToken: colleague.sessionToken, userId });
    expect(await world.outcomeBehind(endOfSessions(colleague.userId), create)).toBe('unauthorized');
  });
});
