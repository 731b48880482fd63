import {
  type Call,
  callers,
  callersAndOperators,
  newId,
  operatorService,
  type Principal,
  type Role,
  type RpcOf,
  requirePrincipal,
  ServiceError,
  services,
  tenantOf,
} from '@agent-service/contracts';
import { changedValues, isEmpty } from '@agent-service/contracts/changes';
import { processClock } from '@agent-service/runtime';
import { isViolation, lastOf, limitOf, type Transaction, writeAudit } from '@agent-service/store';
import { createBatcher } from '@agent-service/work';
import type { IdentityDeps } from '../deps.ts';
import {
  changesSignIn,
  endsCredentials,
  endsReset,
  grantsAdmin,
  leavesNoAdmin,
  revokesAdmin,
  type UserKind,
  type UserState,
  type UserStatus,
} from '../domain/user-rules.ts';
import { removeInvitationsOf, removeResets } from '../portal/store/invitations.ts';
import { unlinkProviderAccounts } from '../portal/store/passwords.ts';
import { endSessionsOf, isSessionId } from '../portal/store/sessions.ts';
import { revokeCredentialsOf } from '../store/credentials.ts';
import { User, type UserRow } from '../store/entities.ts';
import {
  countUsers,
  findSelf,
  findUsers,
  lockOtherAdmins,
  selectAdministrators,
  selectUsers,
  type UserEvents,
  type UserKey,
} from '../store/users.ts';
import { changeAs } from './caller.ts';
import { checkEmail, checkName, checkRole } from './input.ts';

export const createUser = (deps: IdentityDeps): RpcOf<'identity', 'createUser'> => ({
  allow: callersAndOperators({ scope: 'users:write' }),
  async handle({ name, email, role }, call) {
    const { auditRelay, events } = deps;
    const { organizationId } = tenantOf(call);
    const user = { name: checkName(name), email: checkEmail(email), role: checkRole(role || 'member') };
    if (user.role === 'admin') requireAdministrator(call);
    const response = await changeAs(deps, call, async (transaction) => {
      const added = await addUser(transaction, call, { ...user, organizationId, kind: 'person' });
      await events.addRegistered(transaction.sql, organizationId, added);
      return { user: added };
    });
    auditRelay.nudge();
    events.nudge();
    return response;
  },
});

/** Without the admin flag a credential registers members only: a new user must not have more rights than the credential. */
function requireAdministrator({ caller }: Call): void {
  if (caller.service === operatorService || caller.principal?.admin) return;
  throw new ServiceError('admin_required', { message: 'Registering an administrator needs a token made from an administrator key.' });
}

const maxLookUpsPerBatch = 100;
const lookUpBatches = 2;

/** Concurrent look-ups share a statement, because most of the cost of a look-up is its round trip. */
export const getUser = ({ store }: IdentityDeps): RpcOf<'identity', 'getUser'> => {
  const lookUps = createBatcher<UserKey, UserRow | undefined>({
    maxItems: maxLookUpsPerBatch,
    concurrency: lookUpBatches,
    run: (keys) => findUsers(store.sql, keys),
  });
  return {
    // A caller that may read or set a user's credits has to learn whether the user exists.
    allow: callersAndOperators({ scope: ['users:read', 'credits:read', 'credits:write'] }),
    async handle({ userId }, call) {
      const user = await lookUps.add({ organizationId: tenantOf(call).organizationId, userId });
      if (!user) throw new ServiceError('not_found');
      return { user: toUser(user) };
    },
  };
};

export const listUsers = ({ store, cursors }: IdentityDeps): RpcOf<'identity', 'listUsers'> => ({
  allow: callersAndOperators({ scope: 'users:read' }),
  async handle({ page, role, status }, call) {
    const { organizationId } = tenantOf(call);
    const limit = limitOf(page);
    const binding = ['users', organizationId, role, status];
    const start = cursors.decode(binding, page?.cursor ?? '');
    const filter = { role, status };
    const [users, total] = await Promise.all([
      store.transaction(({ em }) => selectUsers(em, organizationId, filter, start?.after, limit)),
      countUsers(store.sql, organizationId, filter),
    ]);
    const last = lastOf(users, limit);
    const nextCursor = last ? cursors.encode(binding, { after: [last.createdAt.toISOString(), last.id] }) : '';
    return { users: users.slice(0, limit).map(toUser), page: { total, nextCursor } };
  },
});

export const listAdministrators = ({ store }: IdentityDeps): RpcOf<'identity', 'listAdministrators'> => ({
  allow: services('webhooks'),
  async handle({ organizationId }) {
    return { users: (await store.transaction(({ em }) => selectAdministrators(em, organizationId))).map(toUser) };
  },
});

/** A user as the contract carries it. */
const toUser = ({ id, name, email, role, status, createdAt, kind }: UserRow) => ({
  id,
  name,
  email,
  role,
  status,
  createdAt: createdAt.toISOString(),
  kind,
});

interface NewUser {
  readonly organizationId: string;
  readonly name: string;
  readonly email: string;
  readonly role: Role;
  readonly kind: UserKind;
}

/** Adds a user to an organization, for both environments. */
export async function addUser({ em, sql }: Transaction, call: Call, { organizationId, name, email, role, kind }: NewUser) {
  const createdAt = new Date(processClock.now());
  const id = newId('usr', createdAt.getTime());
  const user = em.create(User, { organizationId, id, kind, name, email, role, status: 'active', createdAt, updatedAt: createdAt });
  await flushUser(em);
  const target = { type: 'user', id };
  await writeAudit(sql, call, { action: 'user.created', organizationId, environment: '', target, changes: { role, kind } });
  return toUser(user);
}

async function flushUser(em: Transaction['em']): Promise<void> {
  try {
    await em.flush();
  } catch (cause) {
    if (isViolation(cause, 'users_email_unique')) throw new ServiceError('email_taken', { param: 'email', cause });
    if (isViolation(cause, 'users_organization_id_fkey'))
      throw new ServiceError('not_found', { message: 'There is no such organization.', cause });
    throw cause;
  }
}

interface UserChanges {
  name?: string | undefined;
  email?: string | undefined;
  role?: Role | undefined;
  status?: UserStatus | undefined;
}

const needsAdminKey =
  'Making, demoting or deactivating an administrator, and changing the e-mail address of a person, needs a token made from an administrator key.';
const serviceUserRole = 'The user of an application has no role: the scopes of the application are its limit.';

/** Changes a user. A deactivation revokes the user's credentials. A change that ends access answers when it is effective everywhere. */
export const updateUser = (deps: IdentityDeps): RpcOf<'identity', 'updateUser'> => ({
  allow: callers({ scope: 'users:write' }),
  async handle({ userId, name, email, role, status }, call) {
    const { auditRelay, events, waitForRevocation } = deps;
    const values = { name, email, role, status } as UserChanges;
    const response = await changeAs(deps, call, (transaction) => changeUser(transaction, call, events, userId, values));
    auditRelay.nudge();
    events.nudge();
    if (status === 'deactivated' || role === 'member' || email !== undefined) await waitForRevocation(0);
    return response;
  },
});

async function changeUser({ em, sql }: Transaction, call: Call, events: UserEvents, userId: string, values: UserChanges) {
  const caller = requirePrincipal(call);
  const { organizationId } = caller;
  const hasOtherAdmin = await lockOtherAdmins(sql, organizationId, userId);
  const user = await em.findOne(User, { organizationId, id: userId });
  if (!user) throw new ServiceError('not_found');
  const changes = changedValues(user, values);
  if (isEmpty(changes)) return { user: toUser(user) };
  const before = { kind: user.kind, role: user.role, status: user.status, email: user.email };
  em.assign(user, { ...changes, updatedAt: new Date(processClock.now()) });
  checkRights(caller, userId, before, user, hasOtherAdmin);
  // A link that a former administrator has made could restore access. It is removed before the user is written, whose trigger locks the
  // counters of users: the acceptance of an invitation locks both in this order too.
  if (revokesAdmin(before, user)) await removeInvitationsOf(sql, organizationId, userId);
  await flushUser(em);
  const isDeactivation = endsCredentials(before, user);
  const revoked = isDeactivation ? await revokeCredentialsOf(sql, organizationId, userId) : undefined;
  if (revokesAdmin(before, user)) await removeResets(sql, organizationId);
  else if (endsReset(before, user)) await removeResets(sql, organizationId, userId);
  // A provider's account of the former address may belong to another person than the one with the new address.
  const isMoved = changesSignIn(before, user) && caller.userId !== userId;
  const removed = isMoved ? await unlinkProviderAccounts(sql, organizationId, userId) : {};
  // A later activation restores no session.
  if (isDeactivation || isMoved) await endSessionsOf(sql, organizationId, userId);
  if (isDeactivation) await events.addDeactivated(sql, organizationId, userId, user.updatedAt);
  const revokedIds = revoked ? [...revoked.apiKeys, ...revoked.applications] : [];
  await writeAudit(sql, call, {
    action: isDeactivation ? 'user.deactivated' : 'user.updated',
    organizationId,
    environment: '',
    target: { type: 'user', id: userId },
    changes: { ...changes, ...(revokedIds.length > 0 && { ended_credentials: revokedIds }), ...removed },
  });
  return {
    user: toUser(user),
    ...(revoked && { endedCredentials: { apiKeys: revoked.apiKeys.length, oauthApplications: revoked.applications.length } }),
  };
}

/** Throws if this caller may not make this change. The lock keeps two changes from each relying on the other's administrator. */
function checkRights(caller: Principal, userId: string, before: UserState, after: UserState, hasOtherAdmin: boolean): void {
  if (before.kind === 'service' && before.role !== after.role)
    throw new ServiceError('invalid_request', { message: serviceUserRole, param: 'role' });
  const needsAdmin = grantsAdmin(before, after) || revokesAdmin(before, after) || changesSignIn(before, after);
  if (needsAdmin && !caller.admin) throw new ServiceError('admin_required', { message: needsAdminKey });
  if (leavesNoAdmin(before, after, hasOtherAdmin)) throw new ServiceError('last_admin');
  const isChanged = before.role !== after.role || before.status !== after.status;
  if (caller.userId === userId && isChanged) throw new ServiceError('own_role_or_status');
}

/** Needs no scope: it tells a caller about the caller only. */
export const getSelf = ({ store }: IdentityDeps): RpcOf<'identity', 'getSelf'> => ({
  allow: callers(),
  async handle(_request, call) {
    const caller = requirePrincipal(call);
    const self = await findSelf(store.sql, caller);
    if (!self) throw new ServiceError('not_found');
    return {
      user: toUser(self.user),
      userKind: self.user.kind,
      organizationName: self.organizationName,
      credentialType: credentialTypeOf(caller.credentialId, self.isKey),
      credentialName: self.credentialName,
      credentialEndsAt: self.credentialEndsAt?.toISOString() ?? '',
    };
  },
});

function credentialTypeOf(credentialId: string, isKey: boolean): string {
  if (isSessionId(credentialId)) return 'session';
  return isKey ? 'api_key' : 'oauth_application';
}
