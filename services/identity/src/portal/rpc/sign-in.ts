import { type Call, type RpcOf, ServiceError } from '@agent-service/contracts';
import { type Sql, writeAudit } from '@agent-service/store';
import type { IdentityDeps } from '../../deps.ts';
import { serviceChain } from '../../domain/audit-chain.ts';
import { lockSignInOf } from '../../store/users.ts';
import { findPerson, findUsersByEmail, foldEmail, rehashPassword, type SignInUser } from '../store/passwords.ts';
import {
  type CountedAttempt,
  countAttempt,
  countRequest,
  forgetAttempts,
  secondsUntilAllowed,
  takeBackAttempt,
} from '../store/sign-in-limits.ts';
import { openedSession, openSession, portal, tooMany } from './session.ts';
import { countCode, takeCode } from './two-factor.ts';

const maxEmailLength = 254;
const maxPasswordLength = 1_024;
/** For one address, with all users behind it. */
const requestsPerMinute = 60;
/** For each pair of address and e-mail, so that attempts from one address delay no other address. */
const delayOfPair = { freeAttempts: 5, maxDelaySeconds: 900 };

/** Opens a session. An unknown e-mail address, a wrong password and a deactivated user get the same answer after the same work. */
export const signIn = (deps: IdentityDeps): RpcOf<'identity', 'signIn'> => ({
  allow: portal,
  async handle({ email, password, code, organizationId, client, previousSessionToken }, call) {
    if (email.length > maxEmailLength || email.includes('\0') || password.length > maxPasswordLength)
      throw new ServiceError('invalid_credentials');
    const { store, passwords, keyedHash } = deps;
    const lane = client?.countedAddress ?? '';
    const pair = keyedHash(`sign-in\n${lane}\n${await foldEmail(store.sql, email)}`);
    const attempt = await countSignIn(deps, lane, pair);
    const users = await findUsersByEmail(store.sql, email);
    const input = { email, password, lane, signal: call.signal };
    const matching = await passwords.matching(input, users);
    const user = await selectByPassword(store, pair, matching, organizationId);
    if (!user) {
      if (attempt.delaySeconds > 0)
        await reportDelay(deps, call, guessedUsers(users, organizationId), { pair, attempt, address: client?.address ?? '' });
      throw new ServiceError('invalid_credentials');
    }
    await countCode(deps, user, code, pair);
    if (user.hash !== null && !passwords.isCurrent(user.hash, user.email))
      await rehashPassword(store.sql, user, await passwords.hash({ ...input, email: user.email }));
    const opening = { method: 'password', client, previousToken: previousSessionToken } as const;
    const sessionToken = await store.transaction(
      async (transaction) => {
        await forgetSuccess(transaction.sql, pair, matching.length === users.length);
        await lockSignInOf(transaction.sql, user.organizationId, user.userId);
        // A change of the password or the address that committed before ends the sessions that it saw, and not this one.
        const present = await findPerson(transaction.sql, user.organizationId, user.userId);
        if (present?.email !== user.email || present.passwordChangedAt !== user.passwordChangedAt)
          throw new ServiceError('invalid_credentials');
        await takeCode(transaction.sql, deps, user, code);
        return await openSession(transaction, deps, call, user, opening);
      },
      { mayRepeat: true },
    );
    deps.auditRelay.nudge();
    return await openedSession(deps, sessionToken);
  },
});

/** Selects as `selectUser` does. An attempt with the right password that only lacks the organization is not counted. */
async function selectByPassword({ sql }: IdentityDeps['store'], pair: string, matching: readonly SignInUser[], organizationId: string) {
  if (matching.length > 1 && organizationId === '') await takeBackAttempt(sql, pair);
  return selectUser(matching, organizationId);
}

/**
 * Forgets all attempts if the password fits every user of the e-mail address; otherwise only this attempt, because the passwords of the other
 * users may still be guessed.
 */
const forgetSuccess = (sql: Sql, pair: string, fitsEveryUser: boolean): Promise<void> =>
  fitsEveryUser ? forgetAttempts(sql, pair) : takeBackAttempt(sql, pair);

/** Counts the attempt before the password is checked, so that attempts at the same time count as well. */
async function countSignIn({ store, keyedHash }: IdentityDeps, lane: string, pair: string): Promise<CountedAttempt> {
  const address = keyedHash(`sign-in\n${lane}`);
  if (!(await countRequest(store.sql, address, requestsPerMinute))) throw tooMany(await secondsUntilAllowed(store.sql, address));
  const attempt = await countAttempt(store.sql, pair, delayOfPair);
  if (!attempt) throw tooMany(await secondsUntilAllowed(store.sql, pair));
  return attempt;
}

/** Users of several organizations may have the same e-mail address and password: the caller then names the organization. */
function selectUser(matching: readonly SignInUser[], organizationId: string): SignInUser | undefined {
  if (organizationId !== '') return matching.find((user) => user.organizationId === organizationId);
  if (matching.length <= 1) return matching[0];
  const organizations = matching.slice(0, 20).map((user) => ({ id: user.organizationId, name: user.organizationName }));
  throw new ServiceError('organization_required', { details: { organizations } });
}

interface Delay {
  readonly pair: string;
  readonly attempt: CountedAttempt;
  readonly address: string;
}

/**
 * The users whose password the attempt may have guessed: the user of the organization that the caller names; otherwise every user with a
 * password, or every user if none has one.
 */
function guessedUsers(users: readonly SignInUser[], organizationId: string): readonly SignInUser[] {
  const named = users.filter((user) => user.organizationId === organizationId);
  if (named.length > 0) return named;
  const withPassword = users.filter(({ hash }) => hash !== null);
  return withPassword.length > 0 ? withPassword : users;
}

/**
 * Records in the organization of each user that failures begin to delay an address. For an unknown e-mail address the same is recorded in the
 * chain of the service.
 */
async function reportDelay(
  { store, auditRelay }: IdentityDeps,
  call: Call,
  users: readonly SignInUser[],
  { pair, attempt, address }: Delay,
) {
  const targets =
    users.length > 0
      ? users.map(({ organizationId, userId }) => ({ organizationId, target: { type: 'user', id: userId } }))
      : [{ organizationId: serviceChain, target: { type: 'sign_in', id: pair.slice(0, 16) } }];
  const changes = { address, attempts: attempt.attempts, delay_seconds: Math.ceil(attempt.delaySeconds) };
  const entries = targets.map((target) => ({ ...target, action: 'sign_in.delayed', environment: '', changes }) as const);
  await store.transaction(({ sql }) => writeAudit(sql, call, ...entries));
  auditRelay.nudge();
}
