import { type Call, callers, type Principal, type RpcOf, ServiceError } from '@agent-service/contracts';
import { processClock } from '@agent-service/runtime';
import { once, type Transaction, writeAudit } from '@agent-service/store';
import type { IdentityContext } from '../context.ts';
import {
  endsCredentials,
  grantsAdmin,
  leavesNoAdmin,
  type Role,
  revokesAdmin,
  type UserState,
  type UserStatus,
} from '../domain/user-rules.ts';
import { revokeCredentialsOf } from '../store/credentials.ts';
import { User } from '../store/entities.ts';
import type { UserEvents } from '../store/user-events.ts';
import { lockOtherAdmins } from '../store/users.ts';
import { waitForRevocation } from './revocation.ts';
import { flushUser, toUser } from './users.ts';

interface UserChanges {
  name?: string;
  email?: string;
  role?: Role;
  status?: UserStatus;
}

const needsAdminKey = 'Demoting or deactivating an administrator needs a token made from an administrator key.';
const serviceUserRole = 'The user of an application has no role: the scopes of the application are its limit.';
const needsAdministrator = 'Only an administrator may make another user an administrator.';

/** Changes a user. A deactivation revokes the user's credentials; it and a demotion answer when they are effective everywhere. */
export const updateUser = ({ store, auditRelay, events }: IdentityContext): RpcOf<'identity', 'updateUser'> => ({
  allow: callers({ scope: 'users:write' }),
  async handle({ userId, name, email, role, status }, call) {
    const fields = Object.entries({ name, email, role, status }).filter(([, value]) => value !== undefined);
    const changes = Object.fromEntries(fields) as UserChanges;
    const response = await once(store, call, (transaction) => changeUser(transaction, call, events, userId, changes));
    auditRelay.nudge();
    events.nudge();
    if (changes.status === 'deactivated' || changes.role === 'member') await waitForRevocation(0);
    return response;
  },
});

async function changeUser({ em, sql }: Transaction, call: Call, events: UserEvents, userId: string, changes: UserChanges) {
  const { organizationId } = call.tenant;
  const hasOtherAdmin = await lockOtherAdmins(sql, organizationId, userId);
  const user = await em.findOne(User, { organizationId, id: userId });
  if (!user) throw new ServiceError('not_found');
  const before = { kind: user.kind, role: user.role, status: user.status };
  em.assign(user, { ...changes, updatedAt: new Date(processClock.now()) });
  checkRights(call.tenant, userId, before, user, hasOtherAdmin);
  await flushUser(em);
  const isDeactivation = endsCredentials(before, user);
  const revoked = isDeactivation ? await revokeCredentialsOf(sql, organizationId, userId) : undefined;
  if (isDeactivation) await events.addDeactivated(sql, organizationId, userId, user.updatedAt);
  const revokedIds = revoked ? [...revoked.apiKeys, ...revoked.applications] : [];
  await writeAudit(sql, call, {
    action: isDeactivation ? 'user.deactivated' : 'user.updated',
    organizationId,
    environment: '',
    target: { type: 'user', id: userId },
    changes: { ...changes, ...(revokedIds.length > 0 && { ended_credentials: revokedIds }) },
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
  if (revokesAdmin(before, after) && !caller.admin) throw new ServiceError('admin_required', { message: needsAdminKey });
  if (grantsAdmin(before, after) && caller.role !== 'admin') throw new ServiceError('admin_required', { message: needsAdministrator });
  if (leavesNoAdmin(before, after, hasOtherAdmin)) throw new ServiceError('last_admin');
  const isChanged = before.role !== after.role || before.status !== after.status;
  if (caller.userId === userId && isChanged) throw new ServiceError('own_role_or_status');
}
