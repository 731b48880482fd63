import { type IdTokenClaims, type IdTokenForge, type OpenIdProvider, openIdProvider, until } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { boot } from './boot.ts';
import { administrator, outcomeOf, type PortalWorld, password, portalWorld } from './portal-world.ts';

let provider: OpenIdProvider;
let world: PortalWorld;
beforeAll(async () => {
  provider = await openIdProvider();
  world = await portalWorld({ OPENID_CONNECT_ISSUER: provider.issuer, OPENID_CONNECT_CLIENT_ID: provider.clientId });
});
afterAll(async () => {
  await world?.stop();
  await provider?.stop();
});

let attempts = 0;

/** As another administrator of the organization does. */
async function deactivate({ email, organizationId, userId }: { email: string; organizationId: string; userId: string }) {
  const principal = administrator(organizationId, 'usr_other');
  const { gateway } = world.service;
  await world.service.as(principal, () => gateway.createUser({ name: 'Second', email: `second-${email}`, role: 'admin' }));
  await world.service.as(principal, () => gateway.updateUser({ userId, status: 'deactivated' }));
}

/** A user without a password, whose hash would take most of the time of these tests. */
async function makePerson() {
  const email = `person${++attempts}@acme.example`;
  return { email, ...(await world.service.operator.createOrganization({ name: 'Acme', email })) };
}

/** Signs in as the portal does, with a right token unless it is spoiled. */
function signIn(account: IdTokenClaims, forge: IdTokenForge = (claims, { signed }) => signed(claims), more: object = {}) {
  const nonce = `nonce-${++attempts}`;
  const idToken = forge(provider.claims(account, nonce), provider);
  return world.portal.signInWithProvider({ idToken, nonce, client: world.browser(), ...more });
}

const minutesAgo = (minutes: number): number => Math.floor(Date.now() / 1_000) - minutes * 60;

/** Tokens with which a portal that was taken over would sign in as the user. */
const forgeries: Readonly<Record<string, IdTokenForge>> = {
  'that is empty': () => '',
  'that is no token': () => 'nonsense',
  'of an endless length': (claims, { signed }) => signed({ ...claims, padding: 'x'.repeat(20_000) }),
  'without a signature': (claims, { signed }) => signed(claims, undefined, { alg: 'none', kid: 'one' }),
  'whose signature was cut off': (claims, { signed }) => signed(claims).replace(/[^.]*$/, ''),
  'signed by a stranger': (claims, { signed, stranger }) => signed(claims, stranger),
  'signed by a stranger under an unknown key id': (claims, { signed, stranger }) => signed(claims, stranger, { alg: 'RS256', kid: 'two' }),
  'signed with the published key as a shared secret': (claims, { signedWithSecret }) => signedWithSecret(claims),
  'with claims that were changed after the signature': (claims, { signed }) => {
    const [header, , signature] = signed({ ...claims, email: 'other@acme.example' }).split('.');
    return [header, signed(claims).split('.')[1], signature].join('.');
  },
  'of another issuer': (claims, { signed }) => signed({ ...claims, iss: 'https://evil.example' }),
  'for another application': (claims, { signed }) => signed({ ...claims, aud: 'another' }),
  'for several applications, without a party': (claims, { signed }) => signed({ ...claims, aud: [claims['aud'], 'another'] }),
  'for several applications, by another party': (claims, { signed }) =>
    signed({ ...claims, aud: [claims['aud'], 'another'], azp: 'another' }),
  'for another attempt': (claims, { signed }) => signed({ ...claims, nonce: 'another' }),
  'without a nonce': ({ nonce: _, ...claims }, { signed }) => signed(claims),
  'that has expired': (claims, { signed }) => signed({ ...claims, iat: minutesAgo(5), exp: minutesAgo(1) }),
  'without an end': ({ exp: _, ...claims }, { signed }) => signed(claims),
  'that is long valid and old': (claims, { signed }) => signed({ ...claims, iat: minutesAgo(11) }),
  'from the future': (claims, { signed }) => signed({ ...claims, iat: minutesAgo(-5), exp: minutesAgo(-10) }),
  'not valid yet': (claims, { signed }) => signed({ ...claims, nbf: minutesAgo(-5) }),
  'with an e-mail address that is not verified': (claims, { signed }) => signed({ ...claims, email_verified: false }),
  'with an e-mail address of unknown state': ({ email_verified: _, ...claims }, { signed }) => signed(claims),
  'without an e-mail address': ({ email: _, ...claims }, { signed }) => signed(claims),
  'without a subject': ({ sub: _, ...claims }, { signed }) => signed(claims),
};

describe('a sign-in with a provider', () => {
  // The first test: later ones have the keys.
  test('fails as unavailable while the provider cannot be asked for its keys, and works when it is back', async () => {
    const { email } = await makePerson();
    provider.setAway(true);
    expect(await outcomeOf(signIn({ email, sub: email }))).toBe('unavailable');
    provider.setAway(false);
    expect(await outcomeOf(signIn({ email, sub: email }))).toBe('ok');
  });

  test('opens a session for the person of the token, once', async () => {
    const { email, organizationId, userId } = await makePerson();
    const nonce = 'the-nonce-of-one-attempt';
    const idToken = provider.signed(provider.claims({ email, sub: 'one' }, nonce));
    const outcomes = await Promise.all(
      Array.from({ length: 5 }, () => outcomeOf(world.portal.signInWithProvider({ idToken, nonce, client: world.browser() }))),
    );
    expect(outcomes.toSorted()).toEqual(['invalid_token', 'invalid_token', 'invalid_token', 'invalid_token', 'ok']);
    const { opened } = await signIn({ email, sub: 'one' });
    expect(opened?.session).toMatchObject({ organizationId, user: { id: userId } });
    expect((await world.portal.resumeSession({ sessionToken: opened?.sessionToken ?? '' })).session?.organizationId).toBe(organizationId);
    const linked = `select changes_json::json as changes from identity.audit_entries where action = 'provider_account.linked' and organization_id = $1`;
    const links = () => world.database(linked, [organizationId]);
    await until('the entry is written', async () => (await links()).length > 0);
    expect(await links()).toEqual([{ changes: { issuer: provider.issuer, subject: 'one' } }]);
  });

  describe('refuses a token', () => {
    let account: { email: string; sub: string };
    beforeAll(async () => {
      account = { email: (await makePerson()).email, sub: 'of-the-right-person' };
    });

    test.each(Object.entries(forgeries))('%s', async (_, forge) => {
      expect(await outcomeOf(signIn(account, forge))).toBe('invalid_token');
    });

    test('and not the right one', async () => {
      expect(await outcomeOf(signIn(account))).toBe('ok');
    });
  });

  test('accepts a token for several applications that names the portal as its party', async () => {
    const { email } = await makePerson();
    const forge: IdTokenForge = (claims, { signed }) => signed({ ...claims, aud: [provider.clientId, 'another'], azp: provider.clientId });
    expect(await outcomeOf(signIn({ email, sub: email }, forge))).toBe('ok');
  });

  test('trusts only the token, and nothing that the portal sends with it', async () => {
    const [mine, victim] = [await makePerson(), await makePerson()];
    const claimed = { issuer: provider.issuer, subject: 'account', email: victim.email };
    const { opened } = await signIn({ email: mine.email, sub: 'mine' }, undefined, claimed);
    expect(opened?.session?.organizationId).toBe(mine.organizationId);
    expect(await outcomeOf(world.portal.signInWithProvider({ ...claimed, client: world.browser() } as object))).toBe('invalid_token');
    expect(await outcomeOf(signIn({ email: mine.email, sub: 'mine' }, undefined, { organizationId: victim.organizationId }))).toBe(
      'invalid_credentials',
    );
  });

  test('follows the account and not its address, which the provider may give to another person', async () => {
    const { email } = await makePerson();
    expect(await outcomeOf(signIn({ email, sub: 'first' }))).toBe('ok');
    expect(await outcomeOf(signIn({ email, sub: 'second' }))).toBe('invalid_credentials');
    expect(await outcomeOf(signIn({ email: 'changed@acme.example', sub: 'first' }))).toBe('ok');
    expect(await outcomeOf(signIn({ email: 'unknown@acme.example', sub: 'third' }))).toBe('invalid_credentials');
  });

  test('proves the user who has no password, for some minutes', async () => {
    const { email } = await makePerson();
    const { portal } = world;
    const open = async () => (await signIn({ email, sub: email })).opened?.sessionToken ?? '';
    const sessionToken = await open();
    await world.database(`update identity.portal_sessions set created_at = now() - interval '11 minutes'`);
    const begin = () => portal.beginTwoFactor({ sessionToken });
    const change = (token: string, currentPassword = '') =>
      outcomeOf(portal.changePassword({ sessionToken: token, currentPassword, newPassword: 'a first long password' }));
    const refusal = await begin().catch((cause: unknown) => cause);
    expect(refusal).toMatchObject({ code: 'invalid_request', details: { sign_in_again: true } });
    expect(await change(sessionToken)).toBe('invalid_request');
    const fresh = await open();
    expect(await outcomeOf(portal.beginTwoFactor({ sessionToken: fresh }))).toBe('ok');
    expect(await change(fresh)).toBe('ok');
    // From now on the password is asked for, however fresh the sign-in is.
    expect(await change(await open())).toBe('invalid_request');
    expect(await change(await open(), 'a first long password')).toBe('ok');
  });

  describe('with the former address of a user', () => {
    const sessionOf = async (account: IdTokenClaims) => (await signIn(account)).opened?.sessionToken ?? '';
    /** Reads the entry of the audit log about the change of the user. */
    const changesOf = async (userId: string) => {
      const statement = `select changes_json::json as changes from identity.audit_entries where action = 'user.updated' and target_id = $1`;
      const read = () => world.database(statement, [userId]);
      await until('the entry is written', async () => (await read()).length > 0);
      return (await read())[0]?.changes;
    };
    const isOpen = (sessionToken: string) => outcomeOf(world.portal.resumeSession({ sessionToken }));

    async function makeMoved(by: 'another administrator' | 'the user') {
      const { email, organizationId, userId } = await makePerson();
      const account = { email, sub: `former-${email}` };
      const sessionToken = await sessionOf(account);
      const caller = administrator(organizationId, by === 'the user' ? userId : 'usr_other');
      const { gateway } = world.service;
      const change = (changes: object) => world.service.as(caller, () => gateway.updateUser({ userId, ...changes }));
      const move = (to: string) => change({ email: to });
      return { email, account, organizationId, userId, sessionToken, change, move };
    }

    test('has no effect after another administrator has changed the address, and back', async () => {
      const { email, account, sessionToken, move } = await makeMoved('another administrator');
      await move(`moved-${email}`);
      expect(await isOpen(sessionToken)).toBe('unauthorized');
      expect(await outcomeOf(signIn(account))).toBe('invalid_credentials');
      const planted = await sessionOf({ email: `moved-${email}`, sub: `moved-${email}` });
      await move(email);
      expect(await isOpen(planted)).toBe('unauthorized');
      expect(await outcomeOf(signIn({ email: `moved-${email}`, sub: `moved-${email}` }))).toBe('invalid_credentials');
      expect(await outcomeOf(signIn(account))).toBe('ok');
    });

    test('has none either where the user was deactivated by the same change, and activated later', async () => {
      const { email, account, organizationId, userId, change } = await makeMoved('another administrator');
      await world.service.as(administrator(organizationId, 'usr_other'), () =>
        world.service.gateway.createUser({ name: 'Second', email: `second-${email}`, role: 'admin' }),
      );
      await change({ email: `moved-${email}`, status: 'deactivated' });
      await change({ status: 'active' });
      expect(await outcomeOf(signIn(account))).toBe('invalid_credentials');
      expect(await outcomeOf(signIn({ email: `moved-${email}`, sub: userId }))).toBe('ok');
    });

    test('leaves no password and no second factor that the account has set up', async () => {
      const { email, account, userId, sessionToken, move } = await makeMoved('another administrator');
      const { portal } = world;
      expect(await outcomeOf(portal.changePassword({ sessionToken, currentPassword: '', newPassword: 'the first long password' }))).toBe(
        'ok',
      );
      await portal.beginTwoFactor({ sessionToken, password: 'the first long password' });
      await world.database('update identity.two_factors set confirmed_at = clock_timestamp() where user_id = $1', [userId]);
      await move(`moved-${email}`);
      expect(await changesOf(userId)).toEqual({
        email: `moved-${email}`,
        unlinked_accounts: 1,
        password: 'removed',
        two_factor: 'removed',
      });
      await move(email);
      const byPassword = portal.signIn({ email, password: 'the first long password', client: world.browser() });
      expect(await outcomeOf(byPassword)).toBe('invalid_credentials');
      expect(
        await world.database('select 1 from identity.two_factors join identity.users on id = user_id where email = $1', [email]),
      ).toEqual([]);
      expect(await outcomeOf(signIn(account))).toBe('ok');
    });

    test('leaves the second factor of a password that is older than the account', async () => {
      const { email, organizationId, userId } = await world.makeOrganization();
      const { opened } = await signIn({ email, sub: userId });
      await world.portal.beginTwoFactor({ sessionToken: opened?.sessionToken ?? '', password });
      await world.database('update identity.two_factors set confirmed_at = clock_timestamp() where user_id = $1', [userId]);
      await world.service.as(administrator(organizationId, 'usr_other'), () =>
        world.service.gateway.updateUser({ userId, email: `moved-${email}` }),
      );
      expect(await outcomeOf(world.signIn(`moved-${email}`))).toBe('code_required');
      expect(await changesOf(userId)).toEqual({ email: `moved-${email}`, unlinked_accounts: 1 });
    });

    test('goes on where the user has changed it', async () => {
      const { email, account, sessionToken, move } = await makeMoved('the user');
      await move(`moved-${email}`);
      expect(await isOpen(sessionToken)).toBe('ok');
      expect(await outcomeOf(signIn(account))).toBe('ok');
    });

    test('opens no session if the change comes in between', async () => {
      const { email, userId } = await makePerson();
      const change = [`update users set email = 'moved-' || email where id = $1`, userId] as const;
      expect(await world.outcomeBehind([change], () => signIn({ email, sub: 'late' }))).toBe('invalid_credentials');
      expect(await world.database('select 1 from identity.provider_accounts where user_id = $1', [userId])).toEqual([]);
    });
  });

  test('ends with the user: a deactivated one is refused', async () => {
    const { email, organizationId, userId } = await makePerson();
    expect(await outcomeOf(signIn({ email, sub: email }))).toBe('ok');
    await deactivate({ email, organizationId, userId });
    expect(await outcomeOf(signIn({ email, sub: email }))).toBe('invalid_credentials');
  });

  describe('of a person who has users in several organizations', () => {
    const chooseIn = (choiceToken: string, organizationId: string, more: object = {}) =>
      world.portal.chooseOrganization({ choiceToken, organizationId, client: world.browser(), ...more });
    const optionsOf = async (choiceToken: string) => (await world.portal.getOrganizationChoice({ choiceToken })).organizations;

    async function makeNamesake(email: string, name: string) {
      return { email, name, ...(await world.service.operator.createOrganization({ name, email: email.toUpperCase() })) };
    }

    test('opens a session in the organization that the person chooses, once', async () => {
      const own = await makePerson();
      const other = await makeNamesake(own.email, 'Other');
      const { opened, choiceToken } = await signIn({ email: own.email, sub: own.email });
      expect([opened, choiceToken]).toEqual([null, expect.stringMatching(/^\w{43}$/)]);
      expect((await optionsOf(choiceToken)).toSorted((a, b) => a.name.localeCompare(b.name))).toEqual([
        { id: own.organizationId, name: 'Acme', isLinked: false },
        { id: other.organizationId, name: 'Other', isLinked: false },
      ]);
      const outcomes = await Promise.all(Array.from({ length: 5 }, () => outcomeOf(chooseIn(choiceToken, other.organizationId))));
      expect(outcomes.toSorted()).toEqual(['not_found', 'not_found', 'not_found', 'not_found', 'ok']);
      expect(await outcomeOf(optionsOf(choiceToken))).toBe('not_found');
      expect(await world.database('select email from identity.organization_choices where lower(email) = $1', [own.email])).toEqual([]);
    });

    test('is not decided by another organization that adds the address: the one of earlier sign-ins stays, and is named first', async () => {
      const own = await makePerson();
      const account = { email: own.email, sub: own.email };
      const before = (await signIn(account)).opened?.sessionToken ?? '';
      const other = await makeNamesake(own.email, 'Added later');
      const { choiceToken } = await signIn(account);
      expect(await optionsOf(choiceToken)).toEqual([
        { id: own.organizationId, name: 'Acme', isLinked: true },
        { id: other.organizationId, name: 'Added later', isLinked: false },
      ]);
      const { opened } = await chooseIn(choiceToken, own.organizationId, { previousSessionToken: before });
      expect(opened?.session).toMatchObject({ organizationId: own.organizationId, user: { id: own.userId } });
      // As with every sign-in, the session that the browser had before ends.
      expect(await outcomeOf(world.portal.resumeSession({ sessionToken: before }))).toBe('unauthorized');
      const second = await signIn(account);
      const selection = await chooseIn(second.choiceToken, other.organizationId);
      expect(selection.opened?.session).toMatchObject({ organizationId: other.organizationId, user: { id: other.userId } });
      expect((await optionsOf((await signIn(account)).choiceToken)).map(({ isLinked }) => isLinked)).toEqual([true, true]);
    });

    test('is for the organizations of the person alone, and a wrong choice leaves the right one open', async () => {
      const own = await makePerson();
      await makeNamesake(own.email, 'Other');
      const { organizationId: foreign } = await makePerson();
      const { choiceToken } = await signIn({ email: own.email, sub: own.email });
      for (const organizationId of [foreign, '', 'org_unknown'])
        expect([organizationId, await outcomeOf(chooseIn(choiceToken, organizationId))]).toEqual([organizationId, 'invalid_credentials']);
      for (const token of ['', 'A'.repeat(43)]) expect(await outcomeOf(chooseIn(token, own.organizationId))).toBe('not_found');
      expect(await outcomeOf(chooseIn(choiceToken, own.organizationId))).toBe('ok');
    });

    test('ends after some minutes, and with the user', async () => {
      const [own, late] = [await makePerson(), await makePerson()];
      const other = await makeNamesake(own.email, 'Other');
      await makeNamesake(late.email, 'Other');
      const [{ choiceToken }, expired] = [
        await signIn({ email: own.email, sub: own.email }),
        await signIn({ email: late.email, sub: 'late' }),
      ];
      await world.database(`update identity.organization_choices set expires_at = now() where email = $1`, [late.email]);
      expect(await outcomeOf(optionsOf(expired.choiceToken))).toBe('not_found');
      expect(await outcomeOf(chooseIn(expired.choiceToken, late.organizationId))).toBe('not_found');
      await deactivate(other);
      expect(await optionsOf(choiceToken)).toEqual([{ id: own.organizationId, name: 'Acme', isLinked: false }]);
      expect(await outcomeOf(chooseIn(choiceToken, other.organizationId))).toBe('invalid_credentials');
      expect((await signIn({ email: own.email, sub: own.email })).opened?.session?.organizationId).toBe(own.organizationId);
    });

    test('keeps no token as clear text', async () => {
      const own = await makePerson();
      await makeNamesake(own.email, 'Other');
      const { choiceToken } = await signIn({ email: own.email, sub: own.email });
      const rows = await world.database('select * from identity.organization_choices where email = $1', [own.email]);
      expect([rows.length, JSON.stringify(rows).includes(choiceToken)]).toEqual([1, false]);
    });
  });

  test('is open to the portal alone, and needs a provider with a client id', async () => {
    const { gateway, operator } = world.service;
    for (const client of [gateway, operator])
      for (const call of [client.signInWithProvider({}), client.getOrganizationChoice({}), client.chooseOrganization({})])
        expect(await outcomeOf(call)).toBe('service_forbidden');
    const start = (issuer: string, clientId: string) => boot({ OPENID_CONNECT_ISSUER: issuer, OPENID_CONNECT_CLIENT_ID: clientId });
    await expect(start('https://login.example.com', '')).rejects.toThrow('OPENID_CONNECT_CLIENT_ID');
    await expect(start('http://login.example.com', 'the-portal')).rejects.toThrow('must begin with https://');
  });
});
