import { randomBytes } from 'node:crypto';
import { type Call, cutToRole, type RpcOf, requirePrincipal, ServiceError, type Tenant, tenantOf } from '@agent-service/contracts';
import { changedValues, isEmpty } from '@agent-service/contracts/changes';
import { processClock } from '@agent-service/runtime';
import { isoTime, type Transaction, writeAudit } from '@agent-service/store';
import { LockMode } from '@agent-service/store/entities';
import type { IdentityDeps } from '../deps.ts';
import { makeClientSecret } from '../domain/secrets.ts';
import type { CredentialDetail } from '../store/credential-lists.ts';
import { OauthClient } from '../store/entities.ts';
import { lockActiveUser } from '../store/users.ts';
import { changeAs } from './caller.ts';
import { addApplication } from './credentials.ts';
import { checkName, checkOverlap, checkStatusFilter, grantScopesOf, requireScopes } from './input.ts';
import { checkLimit, listPage, managers, requireCredential, secretContext, toTimes } from './keys.ts';

export const listOauthApplications = (deps: IdentityDeps): RpcOf<'identity', 'listOauthApplications'> => ({
  allow: managers,
  async handle({ page, status }, call) {
    const filter = { userId: '', status: checkStatusFilter(status) };
    const listed = await listPage(deps, 'oauth_application', tenantOf(call), filter, page);
    return { applications: listed.credentials.map(toApplication), page: listed.page };
  },
});

export const getOauthApplication = ({ store }: IdentityDeps): RpcOf<'identity', 'getOauthApplication'> => ({
  allow: managers,
  async handle({ applicationId }, call) {
    return { application: await readApplication(store, call, applicationId) };
  },
});

const needsUser =
  'A credential of the test environment cannot add a service user, because users belong to both environments. Name the user of the application.';

/** Registers an application in the caller's environment. Without a user it gets a service user of its own, who is charged. */
export const issueOauthApplication = (deps: IdentityDeps): RpcOf<'identity', 'issueOauthApplication'> => ({
  allow: managers,
  async handle({ userId, ...request }, call) {
    const { keyedHash, cipher, auditRelay } = deps;
    const caller = requirePrincipal(call);
    const { organizationId, environment } = caller;
    const name = checkName(request.name);
    if (userId === '' && environment === 'test') throw new ServiceError('invalid_request', { message: needsUser, param: 'user_id' });
    const clientSecret = makeClientSecret(randomBytes);
    const stored = await changeAs(deps, call, async (transaction) => {
      const role = userId === '' ? '' : await lockActiveUser(transaction.sql, organizationId, userId);
      const scopes = grantScopesOf(request.scopes.length > 0 ? request.scopes : undefined, caller, role);
      const application = { organizationId, environment, userId, name, scopes, secretHash: keyedHash(clientSecret) };
      const { id } = await addApplication(transaction, call, application);
      await checkLimit(transaction, 'oauth_application', caller);
      const sealedSecret = cipher.encrypt(clientSecret, secretContext(caller, id));
      return { application: await readApplication(transaction, call, id), sealedSecret };
    });
    auditRelay.nudge();
    const { application } = stored;
    return { application, clientSecret: cipher.decrypt(stored.sealedSecret, secretContext(caller, application.id)) };
  },
});

export const updateOauthApplication = (deps: IdentityDeps): RpcOf<'identity', 'updateOauthApplication'> => ({
  allow: managers,
  async handle({ applicationId: id, name, scopes }, call) {
    const { auditRelay, waitForRevocation } = deps;
    const caller = requirePrincipal(call);
    const { organizationId, environment } = caller;
    const response = await changeAs(deps, call, async (transaction) => {
      const { em, sql } = transaction;
      const { application, role } = await lockActiveApplication(transaction, caller, id);
      const changes = changedValues(application, {
        ...(name !== undefined && { name: checkName(name) }),
        ...(scopes && { scopes: [...grantScopesOf(scopes.values, caller, role)] }),
      });
      if (isEmpty(changes)) return { application: await readApplication(transaction, call, id) };
      em.assign(application, changes);
      await em.flush();
      const target = { type: 'oauth_client', id };
      await writeAudit(sql, call, { action: 'oauth_client.updated', organizationId, environment, target, changes });
      return { application: await readApplication(transaction, call, id) };
    });
    auditRelay.nudge();
    // A scope that was taken away is refused everywhere when this answers.
    if (scopes) await waitForRevocation(0);
    return response;
  },
});

/** The client id stays. Without an overlap the tokens issued so far end with the old secret. */
export const rotateOauthSecret = (deps: IdentityDeps): RpcOf<'identity', 'rotateOauthSecret'> => ({
  allow: managers,
  async handle({ applicationId: id, previousValidSeconds }, call) {
    const { keyedHash, cipher, auditRelay, waitForRevocation } = deps;
    const overlapMs = checkOverlap(previousValidSeconds) * 1_000;
    const caller = requirePrincipal(call);
    const { organizationId, environment } = caller;
    const clientSecret = makeClientSecret(randomBytes);
    const stored = await changeAs(deps, call, async (transaction) => {
      const { em, sql } = transaction;
      const { application, role } = await lockActiveApplication(transaction, caller, id);
      requireScopes(cutToRole(application.scopes, { role, environment }), caller);
      const now = processClock.now();
      em.assign(application, {
        secretHash: keyedHash(clientSecret),
        previousSecretHash: overlapMs > 0 ? application.secretHash : null,
        previousSecretUntil: overlapMs > 0 ? new Date(now + overlapMs) : null,
        // Tokens are issued in whole seconds: the one that has begun counts as before.
        ...(overlapMs === 0 && { tokensSince: new Date((Math.floor(now / 1_000) + 1) * 1_000) }),
      });
      await em.flush();
      const changes = { previous_secret_ends_at: new Date(now + overlapMs) };
      const target = { type: 'oauth_client', id };
      await writeAudit(sql, call, { action: 'oauth_client.secret_rotated', organizationId, environment, target, changes });
      const sealedSecret = cipher.encrypt(clientSecret, secretContext(caller, id));
      return { application: await readApplication(transaction, call, id), sealedSecret };
    });
    auditRelay.nudge();
    if (overlapMs === 0) await waitForRevocation(0);
    return { application: stored.application, clientSecret: cipher.decrypt(stored.sealedSecret, secretContext(caller, id)) };
  },
});

/** Locks the application and, before it, its user, as a deactivation does. */
async function lockActiveApplication({ em, sql }: Transaction, { organizationId, environment }: Tenant, id: string) {
  const application = await em.findOne(OauthClient, { organizationId, environment, id });
  if (!application) throw new ServiceError('not_found');
  if (application.revokedAt) throw new ServiceError('credential_ended');
  const role = await lockActiveUser(sql, organizationId, application.userId);
  await em.refresh(application, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (application.revokedAt) throw new ServiceError('credential_ended');
  return { application, role };
}

const readApplication = async (transaction: Pick<Transaction, 'sql'>, call: Call, id: string) =>
  toApplication(await requireCredential(transaction, 'oauth_application', call, id));

/** An application as the contract carries it, without its secret. */
const toApplication = (application: CredentialDetail) => ({
  id: application.id,
  name: application.name,
  userId: application.userId,
  scopes: application.scopes,
  ...toTimes(application),
  previousSecretEndsAt: application.previousSecretEndsAt ? isoTime(application.previousSecretEndsAt) : '',
});
