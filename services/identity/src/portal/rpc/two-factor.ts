import { randomBytes } from 'node:crypto';
import { type Call, type RpcOf, ServiceError } from '@agent-service/contracts';
import { processClock } from '@agent-service/runtime';
import { runChange, type Sql, writeAudit } from '@agent-service/store';
import type { IdentityDeps } from '../../deps.ts';
import { otpUri, stepOf, toBase32 } from '../../domain/totp.ts';
import type { SignInUser } from '../store/passwords.ts';
import type { SessionRow } from '../store/sessions.ts';
import { countAttempt, forgetAttempts, secondsUntilAllowed, takeBackAttempt } from '../store/sign-in-limits.ts';
import {
  activateTwoFactor,
  deleteTwoFactor,
  findTwoFactor,
  saveUnconfirmedSecret,
  takeRecoveryCode,
  takeStep,
  twoFactorContext,
} from '../store/two-factors.ts';
import { confirmUser, lockConfirmedUser, lockSessionUser } from './passwords.ts';
import { actorOf, portal, requireSession, tooMany } from './session.ts';

const secretBytes = 20;
const recoveryCodes = 10;
const recoveryBytes = 10;
/** Codes are tried only after the right password, so attempts count for the user and not for an address: no stranger can delay the user. */
const delayOfCodes = { freeAttempts: 5, maxDelaySeconds: 60 };

type User = Pick<SignInUser, 'organizationId' | 'userId'>;

/**
 * Counts the attempt at the code of a user with a second factor, before the transaction in which `takeCode` uses it up, so that a wrong one
 * stays counted. The right password without a code begins each sign-in with a second factor, and does not stay counted under the key of its attempt.
 */
export async function countCode(deps: IdentityDeps, user: User, code: string, attempt: string): Promise<void> {
  const { store } = deps;
  if (!(await findTwoFactor(store.sql, user))?.isConfirmed) return;
  if (code === '') {
    await takeBackAttempt(store.sql, attempt);
    throw new ServiceError('code_required');
  }
  await countAttemptOf(deps, user);
}

/**
 * Throws unless the user has no second factor, or this is its code or a recovery code, which is used up in the transaction of the session
 * that it opens. The transaction has locked the user.
 */
export async function takeCode(sql: Sql, deps: IdentityDeps, user: User, code: string): Promise<void> {
  const factor = await findTwoFactor(sql, user);
  if (!factor?.isConfirmed) return;
  const secret = Buffer.from(deps.cipher.decrypt(factor.secret, twoFactorContext(user)), 'base64');
  if (!(await isAccepted(sql, deps, user, secret, code)))
    throw new ServiceError('code_required', { message: 'The code is wrong, or was used before.', details: { invalid: true } });
  await forgetAttempts(sql, attemptsOf(deps, user));
}

/** The key that attempts at codes of the user count under. */
const attemptsOf = ({ keyedHash }: IdentityDeps, { userId }: User): string => keyedHash(`code\n${userId}`);

async function countAttemptOf(deps: IdentityDeps, user: User): Promise<void> {
  const { sql } = deps.store;
  const key = attemptsOf(deps, user);
  if (!(await countAttempt(sql, key, delayOfCodes))) throw tooMany(await secondsUntilAllowed(sql, key));
}

async function isAccepted(sql: Sql, { keyedHash }: IdentityDeps, user: User, secret: Buffer, text: string): Promise<boolean> {
  const code = text.replaceAll(/[\s-]/g, '');
  if (!/^\d{6}$/.test(code)) return await takeRecoveryCode(sql, user, keyedHash.accepted(recoveryText(user, code)));
  const step = stepOf(secret, code, processClock.now());
  return step !== undefined && (await takeStep(sql, user, step));
}

/** The text whose hash stands for a recovery code. */
const recoveryText = ({ userId }: User, code: string): string => `recovery\n${userId}\n${code.toUpperCase()}`;

/** Makes a secret after a proof of the user. It replaces one that was not confirmed, and is not in use before a code has confirmed it. */
export const beginTwoFactor = (deps: IdentityDeps): RpcOf<'identity', 'beginTwoFactor'> => ({
  allow: portal,
  async handle({ sessionToken, password }, call) {
    const session = await requireSession(deps, sessionToken);
    if (session.hasTwoFactor) throw inUse();
    const confirmation = { password, param: 'password', signal: call.signal };
    const user = await confirmUser(deps, session, confirmation);
    const secret = randomBytes(secretBytes);
    const sealed = deps.cipher.encrypt(secret.toString('base64'), twoFactorContext(session));
    await runChange(deps.store, call, session, async (transaction) => {
      await lockConfirmedUser(transaction, session, user, confirmation);
      if (!(await saveUnconfirmedSecret(transaction.sql, session, sealed))) throw inUse();
    });
    const text = toBase32(secret);
    return { secret: text, uri: otpUri(text, session.email, session.organizationName) };
  },
});

const inUse = () => new ServiceError('invalid_request', { message: 'Two-factor authentication is on already. Remove it first.' });

const noSecret = () => new ServiceError('invalid_request', { message: 'Begin with a new secret.' });

/** Puts the secret in use. The answer is the only clear copy of the recovery codes. */
export const confirmTwoFactor = (deps: IdentityDeps): RpcOf<'identity', 'confirmTwoFactor'> => ({
  allow: portal,
  async handle({ sessionToken, code }, call) {
    const { store, cipher, keyedHash, auditRelay } = deps;
    const session = await requireSession(deps, sessionToken);
    const factor = await findTwoFactor(store.sql, session);
    if (!factor) throw noSecret();
    if (factor.isConfirmed) throw inUse();
    await countAttemptOf(deps, session);
    const secret = Buffer.from(cipher.decrypt(factor.secret, twoFactorContext(session)), 'base64');
    const step = stepOf(secret, code.replaceAll(/\s/g, ''), processClock.now());
    if (step === undefined)
      throw new ServiceError('invalid_request', { message: 'This is not the present code of the authenticator app.', param: 'code' });
    const codes = Array.from({ length: recoveryCodes }, () => toBase32(randomBytes(recoveryBytes)));
    const hashes = codes.map((each) => keyedHash(recoveryText(session, each)));
    await runChange(deps.store, call, session, async ({ sql }) => {
      await lockSessionUser(sql, session);
      if (!(await activateTwoFactor(sql, session, factor.secret, step, hashes)))
        throw (await findTwoFactor(sql, session))?.isConfirmed ? inUse() : noSecret();
      await forgetAttempts(sql, attemptsOf(deps, session));
      await writeTwoFactorAudit(sql, call, session, 'two_factor.enabled');
    });
    auditRelay.nudge();
    return { recoveryCodes: codes.map((each) => (each.match(/.{4}/g) ?? []).join('-')) };
  },
});

export const removeTwoFactor = (deps: IdentityDeps): RpcOf<'identity', 'removeTwoFactor'> => ({
  allow: portal,
  async handle({ sessionToken, password }, call) {
    const session = await requireSession(deps, sessionToken);
    const confirmation = { password, param: 'password', signal: call.signal };
    const user = await confirmUser(deps, session, confirmation);
    await runChange(deps.store, call, session, async (transaction) => {
      await lockConfirmedUser(transaction, session, user, confirmation);
      if (await deleteTwoFactor(transaction.sql, session)) await writeTwoFactorAudit(transaction.sql, call, session, 'two_factor.removed');
    });
    deps.auditRelay.nudge();
    return {};
  },
});

async function writeTwoFactorAudit(sql: Sql, call: Call, session: SessionRow, action: string): Promise<void> {
  const { organizationId, userId } = session;
  await writeAudit(sql, call, { action, organizationId, environment: '', target: { type: 'user', id: userId }, actor: actorOf(session) });
}
