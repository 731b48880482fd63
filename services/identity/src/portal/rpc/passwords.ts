import { operators, type RpcOf, ServiceError } from '@agent-service/contracts';
import { runChange, type Transaction } from '@agent-service/store';
import type { IdentityDeps } from '../../deps.ts';
import { faultOfPassword } from '../../domain/passwords.ts';
import { lockSignInOf } from '../../store/users.ts';
import { findPerson, hasSamePassword, type SignInUser } from '../store/passwords.ts';
import { freshMinutes, lockSession, type SessionRow } from '../store/sessions.ts';
import { countAttempt, forgetAttempts, secondsUntilAllowed } from '../store/sign-in-limits.ts';
import { deleteTwoFactor } from '../store/two-factors.ts';
import { actorOf, portal, replacePassword, requireSession, tooMany } from './session.ts';

const delayOfUser = { freeAttempts: 5, maxDelaySeconds: 60 };

export function checkPassword(password: string, email: string, param: string): string {
  const fault = faultOfPassword(password, email);
  if (fault) throw new ServiceError('invalid_request', { message: fault, param });
  return password;
}

export async function requirePerson({ store }: IdentityDeps, organizationId: string, userId: string): Promise<SignInUser> {
  const user = await findPerson(store.sql, organizationId, userId);
  if (!user) throw new ServiceError('not_found', { message: 'There is no such active user in this organization.' });
  return user;
}

interface Confirmation {
  readonly password: string;
  readonly param: string;
  readonly signal: AbortSignal;
}

/**
 * Throws unless the user of the session proves to be there: with the password, or with a fresh sign-in where the user has none.
 * So a browser that was left open, or a stolen cookie, changes no way to sign in.
 */
export async function confirmUser(deps: IdentityDeps, session: SessionRow, confirmation: Confirmation): Promise<SignInUser> {
  const user = await requirePerson(deps, session.organizationId, session.userId);
  if (user.hash !== null) await confirmPassword(deps, user, confirmation);
  else if (!session.isFresh)
    throw new ServiceError('invalid_request', {
      message: `You signed in more than ${freshMinutes} minutes ago. Sign in again, and repeat this.`,
      details: { sign_in_again: true },
    });
  return user;
}

/** Throws unless this is the user's password. A stolen session allows a few attempts a minute. */
async function confirmPassword(deps: IdentityDeps, user: SignInUser, { password, param, signal }: Confirmation): Promise<void> {
  const { store, passwords, keyedHash } = deps;
  const key = keyedHash(`password\n${user.userId}`);
  if (!(await countAttempt(store.sql, key, delayOfUser))) throw tooMany(await secondsUntilAllowed(store.sql, key));
  const matching = await passwords.matching({ email: user.email, password, lane: user.organizationId, signal }, [user]);
  if (matching.length === 0) throw notThePassword(param);
  await forgetAttempts(store.sql, key);
}

const notThePassword = (param: string) => new ServiceError('invalid_request', { message: 'This is not your present password.', param });

/**
 * Locks the user whom `confirmUser` has returned, and throws if the password was changed or the session has ended since. So a request that
 * was confirmed with the old password, or in the session, has no effect once the password is changed or the session has ended.
 */
export async function lockConfirmedUser(
  { sql }: Transaction,
  session: SessionRow,
  user: SignInUser,
  { param }: Pick<Confirmation, 'param'>,
): Promise<void> {
  await lockSessionUser(sql, session);
  if (!(await hasSamePassword(sql, user))) throw notThePassword(param);
}

/** Locks the user of the session, as every change of how the user signs in does, and throws if the session has ended. */
export async function lockSessionUser(sql: Transaction['sql'], session: SessionRow): Promise<void> {
  await lockSignInOf(sql, session.organizationId, session.userId);
  if (!(await lockSession(sql, session))) throw new ServiceError('unauthorized');
}

/** Ends every other session of the user, and answers when they are refused everywhere. */
export const changePassword = (deps: IdentityDeps): RpcOf<'identity', 'changePassword'> => ({
  allow: portal,
  async handle({ sessionToken, currentPassword, newPassword }, call) {
    const session = await requireSession(deps, sessionToken);
    checkPassword(newPassword, session.email, 'new_password');
    const confirmation = { password: currentPassword, param: 'current_password', signal: call.signal };
    const user = await confirmUser(deps, session, confirmation);
    const hash = await deps.passwords.hash({ email: user.email, password: newPassword, lane: user.organizationId, signal: call.signal });
    const change = { hash, exceptId: session.id, actor: actorOf(session) };
    await runChange(deps.store, call, session, async (transaction) => {
      await lockConfirmedUser(transaction, session, user, confirmation);
      await replacePassword(transaction, call, user, change);
    });
    deps.auditRelay.nudge();
    await deps.waitForRevocation(0);
    return {};
  },
});

/** Ends every session of the user. With `unlessSame`, by which a start ensures the password of a demonstration, the present password changes nothing. */
export const setUserPassword = (deps: IdentityDeps): RpcOf<'identity', 'setUserPassword'> => ({
  allow: operators,
  async handle({ organizationId, userId, password, removeTwoFactor: removesTwoFactor, unlessSame }, call) {
    const user = await requirePerson(deps, organizationId, userId);
    if (user.email === '')
      throw new ServiceError('invalid_request', { message: 'The user needs an e-mail address to sign in.', param: 'email' });
    checkPassword(password, user.email, 'password');
    const input = { email: user.email, password, lane: 'operator', signal: call.signal };
    if (unlessSame && (await deps.passwords.matching(input, [user])).length > 0) return { changed: false };
    const hash = await deps.passwords.hash(input);
    const ended = await deps.store.transaction(
      async (transaction) => {
        // The user is locked before the second factor, as by the portal's calls.
        const endedSessions = await replacePassword(transaction, call, user, { hash, removesTwoFactor });
        if (removesTwoFactor) await deleteTwoFactor(transaction.sql, user);
        return endedSessions;
      },
      { mayRepeat: true },
    );
    deps.auditRelay.nudge();
    if (ended > 0) await deps.waitForRevocation(0);
    return { changed: true };
  },
});
