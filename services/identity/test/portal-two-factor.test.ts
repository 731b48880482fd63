import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { codeOf, stepAt } from '../src/domain/totp.ts';
import { endOfSessions, outcomeOf, type PortalWorld, password, passwordChange, portalWorld } from './portal-world.ts';

let world: PortalWorld;
beforeAll(async () => {
  world = await portalWorld();
});
afterAll(() => world?.stop());

const newPassword = 'a quite different phrase';

const secretOf = (text: string): Buffer => {
  const bits = [...text].map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
};

const beginTwoFactor = async (sessionToken: string): Promise<Buffer> =>
  secretOf((await world.portal.beginTwoFactor({ sessionToken, password })).secret);

test('two-factor authentication asks for a code that was not used before, or for a recovery code, and can be removed with the password', async () => {
  const { portal } = world;
  const { email } = await world.makeOrganization();
  const sessionToken = await world.signIn(email);
  for (const wrong of ['', 'a wrong password'])
    expect(await outcomeOf(portal.beginTwoFactor({ sessionToken, password: wrong }))).toBe('invalid_request');
  const { secret, uri } = await portal.beginTwoFactor({ sessionToken, password });
  expect(uri).toMatch(/^otpauth:\/\/totp\//);
  // It is not asked for before it is confirmed.
  expect(await outcomeOf(world.signIn(email))).toBe('ok');
  const bytes = secretOf(secret);
  const codeAt = (shift: number) => codeOf(bytes, stepAt(Date.now()) + shift);
  expect(await outcomeOf(portal.confirmTwoFactor({ sessionToken, code: '000000' }))).toBe('invalid_request');
  const used = codeAt(-1);
  const { recoveryCodes } = await portal.confirmTwoFactor({ sessionToken, code: used });
  expect(recoveryCodes).toHaveLength(10);
  expect(await outcomeOf(world.signIn(email))).toBe('code_required');
  expect(await outcomeOf(world.signIn(email, { code: used }))).toBe('code_required');
  const code = codeAt(1);
  const outcomes = await Promise.all([outcomeOf(world.signIn(email, { code })), outcomeOf(world.signIn(email, { code }))]);
  expect(outcomes.sort()).toEqual(['code_required', 'ok']);
  expect(await outcomeOf(world.signIn(email, { code: recoveryCodes[0] ?? '' }))).toBe('ok');
  expect(await outcomeOf(world.signIn(email, { code: recoveryCodes[0] ?? '' }))).toBe('code_required');
  const rows = await world.database('select * from identity.two_factors');
  expect(JSON.stringify(rows)).not.toContain(bytes.toString('base64'));
  for (const each of recoveryCodes) expect(JSON.stringify(rows)).not.toContain(each.replaceAll('-', ''));
  expect(await outcomeOf(portal.beginTwoFactor({ sessionToken, password }))).toBe('invalid_request');
  expect(await outcomeOf(portal.removeTwoFactor({ sessionToken, password: 'a wrong password' }))).toBe('invalid_request');
  expect(await outcomeOf(portal.removeTwoFactor({ sessionToken, password }))).toBe('ok');
  expect(await outcomeOf(world.signIn(email))).toBe('ok');
});

test('a secret that was not confirmed ends with the password that it was begun with, and when another secret replaces it', async () => {
  const { portal } = world;
  const { email } = await world.makeOrganization();
  const sessionToken = await world.signIn(email);
  const begin = async (secretPassword: string) =>
    secretOf((await portal.beginTwoFactor({ sessionToken, password: secretPassword })).secret);
  const confirm = (secret: Buffer) => portal.confirmTwoFactor({ sessionToken, code: codeOf(secret, stepAt(Date.now())) });
  const old = await begin(password);
  await portal.changePassword({ sessionToken, currentPassword: password, newPassword });
  expect(await outcomeOf(confirm(old))).toBe('invalid_request');
  const replaced = await begin(newPassword);
  const replacement = [
    `update two_factors set secret = secret || 'A' where user_id = (select id from users where email = $1)`,
    email,
  ] as const;
  expect(await world.outcomeBehind([replacement], () => confirm(replaced))).toBe('invalid_request');
  expect(await outcomeOf(world.signIn(email, { password: newPassword }))).toBe('ok');
});

test('two-factor authentication is not turned on after the session that asks for it has ended', async () => {
  const { email, userId } = await world.makeOrganization();
  const sessionToken = await world.signIn(email);
  const secret = await beginTwoFactor(sessionToken);
  const confirm = () => world.portal.confirmTwoFactor({ sessionToken, code: codeOf(secret, stepAt(Date.now())) });
  // A row of the factor that is locked as well, so that a confirmation which does not wait for the user waits for this.
  const lock = ['select 1 from two_factors where user_id = $1 for update', userId] as const;
  expect(await world.outcomeBehind([...endOfSessions(userId), lock], confirm)).toBe('unauthorized');
  expect(await outcomeOf(world.signIn(email))).toBe('ok');
});

test('codes cannot be tried from many addresses', async () => {
  const { portal } = world;
  const { email } = await world.makeOrganization();
  const sessionToken = await world.signIn(email);
  const { secret } = await portal.beginTwoFactor({ sessionToken, password });
  const confirm = (code: string) => portal.confirmTwoFactor({ sessionToken, code });
  // Nor from a browser whose user has begun, and left: a right guess would show recovery codes.
  const guesses = await Promise.all(Array.from({ length: 15 }, () => outcomeOf(confirm('123456'))));
  expect(guesses).toContain('rate_limited');
  await world.database('update identity.sign_in_limits set blocked_until = now(), attempts = 0');
  await confirm(codeOf(secretOf(secret), stepAt(Date.now())));
  const outcomes = await Promise.all(Array.from({ length: 15 }, () => outcomeOf(world.signIn(email, { code: '123456' }))));
  expect(outcomes).toContain('rate_limited');
});

test('a code is used up by the sign-in that opens a session, and not by one that the change of a password refuses', async () => {
  const { email, userId } = await world.makeOrganization();
  const sessionToken = await world.signIn(email);
  const secret = await beginTwoFactor(sessionToken);
  const step = stepAt(Date.now());
  const { recoveryCodes } = await world.portal.confirmTwoFactor({ sessionToken, code: codeOf(secret, step) });
  for (const code of [recoveryCodes[0] ?? '', codeOf(secret, step + 1)]) {
    const attempt = () => world.signIn(email, { code });
    expect(await world.outcomeBehind(passwordChange(userId), attempt)).toBe('invalid_credentials');
    expect([await outcomeOf(attempt()), await outcomeOf(attempt())]).toEqual(['ok', 'code_required']);
  }
});
