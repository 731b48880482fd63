import { type Call, type RpcOf, ServiceError } from '@agent-service/contracts';
import { type Sql, writeAudit } from '@agent-service/store';
import type { IdentityDeps } from '../../deps.ts';
import { lockSignInOf } from '../../store/users.ts';
import { addChoice, findChoice, takeChoice } from '../store/organization-choices.ts';
import { findProviderUsers, linkProviderAccount, type ProviderAccount } from '../store/passwords.ts';
import { claimOnce } from '../store/sign-in-limits.ts';
import { makeToken, openedSession, openSession, type PortalClient, portal } from './session.ts';

interface Opening {
  readonly client: PortalClient | null;
  readonly previousSessionToken: string;
}

/**
 * Opens a session for the account of an ID token of the configured provider, once for each token. The provider decides about second factors.
 * The first sign-in links the account to the user with its e-mail address. Where several organizations have such a user, the person chooses:
 * an administrator of another organization, who adds a user with the address, cannot lock the person out.
 */
export const signInWithProvider = (deps: IdentityDeps): RpcOf<'identity', 'signInWithProvider'> => ({
  allow: portal,
  async handle({ organizationId, idToken, nonce, ...opening }, call) {
    const { store, idTokens, keyedHash } = deps;
    if (!idTokens) throw new ServiceError('invalid_credentials', { message: 'Sign-in with a provider is off.' });
    const account = await idTokens.verify(idToken, nonce);
    if (!(await claimOnce(store.sql, keyedHash(`id-token\n${nonce}`))))
      throw new ServiceError('invalid_token', { message: 'This token of the provider was used before.' });
    const users = await findProviderUsers(store.sql, account);
    if (organizationId === '' && users.length > 1) {
      const choiceToken = makeToken();
      await addChoice(store.sql, keyedHash(choiceToken), account);
      return { choiceToken };
    }
    const user = users.find((each) => organizationId === '' || each.organizationId === organizationId);
    return await open(deps, call, opening, { organizationId: user?.organizationId, takeAccount: async () => account });
  },
});

export const getOrganizationChoice = ({ store, keyedHash }: IdentityDeps): RpcOf<'identity', 'getOrganizationChoice'> => ({
  allow: portal,
  async handle({ choiceToken }) {
    const account = await findChoice(store.sql, keyedHash(choiceToken));
    if (!account) throw noChoice();
    const users = await findProviderUsers(store.sql, account);
    return { organizations: users.map(({ organizationId: id, organizationName: name, isLinked }) => ({ id, name, isLinked })) };
  },
});

export const chooseOrganization = (deps: IdentityDeps): RpcOf<'identity', 'chooseOrganization'> => ({
  allow: portal,
  handle: ({ choiceToken, organizationId, ...opening }, call) =>
    open(deps, call, opening, {
      organizationId,
      async takeAccount(sql) {
        const account = await takeChoice(sql, deps.keyedHash(choiceToken));
        if (!account) throw noChoice();
        return account;
      },
    }),
});

const noChoice = () => new ServiceError('not_found', { message: 'This sign-in has ended or was used. Sign in again.' });

interface Proof {
  /** The organization of the user; undefined where no user has the account. */
  readonly organizationId: string | undefined;
  /** Returns the account that the person has proved to have, in the transaction that opens the session. */
  takeAccount(sql: Sql): Promise<ProviderAccount>;
}

/** Opens a session for the user of the account. */
async function open(
  deps: IdentityDeps,
  call: Call,
  { client, previousSessionToken: previousToken }: Opening,
  { organizationId, takeAccount }: Proof,
) {
  const sessionToken = await deps.store.transaction(
    async (transaction) => {
      const { sql } = transaction;
      const account = await takeAccount(sql);
      const findUser = async () => (await findProviderUsers(sql, account)).find((user) => user.organizationId === organizationId);
      const candidate = await findUser();
      if (candidate) await lockSignInOf(sql, candidate.organizationId, candidate.userId);
      // Read again under the lock: a change of the address that committed before the lock has ended the links and sessions that it saw, not these.
      const user = candidate && (await findUser());
      if (!user || user.userId !== candidate.userId)
        throw new ServiceError('invalid_credentials', { message: 'No active user has the e-mail address of this account.' });
      const { userId } = user;
      if (await linkProviderAccount(sql, user, account))
        await writeAudit(sql, call, {
          action: 'provider_account.linked',
          organizationId: user.organizationId,
          environment: '',
          target: { type: 'user', id: userId },
          actor: { type: 'user', id: userId, keyId: '' },
          changes: { issuer: account.issuer, subject: account.subject },
        });
      return await openSession(transaction, deps, call, user, { method: 'openid_connect', client, previousToken });
    },
    { mayRepeat: true },
  );
  deps.auditRelay.nudge();
  return await openedSession(deps, sessionToken);
}
