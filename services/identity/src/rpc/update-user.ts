import { type Call, callers, type Principal, type RpcOf, ServiceError } from '@agent-service/contracts';
import { processClock } from '@agent-service/runtime';
import { isViolation, once, type Transaction, writeAudit } from '@agent-service/store';
import type { IdentityContext } from '../context.ts';
import {
  endsCredentials,
  leavesNoAdmin,
  type Role,
  type Standing,
  seatsAdmin,
  type UserStatus,
  unseatsAdmin,
} from '../domain/user-rules.ts';
import { revokeCredentialsOf } from '../store/credentials.ts';
import { User } from '../store/entities.ts';
import type { UserEvents } from '../store/user-events.ts';
import { lockOtherAdmins } from '../store/users.ts';
import { untilSettled } from './revocation-wait.ts';

interface Changes {
  name?: string;
  email?: string;
  role?: Role;
  status?: UserStatus;
}

const actsAgainstAdmin = 'Demoting or deactivating an administrator needs a token made from an administrator key.';
const serviceUserRole = 'The user of an application has no role: the scopes of the application are its limit.';
const makesAdmin = 'Only an administrator may make another user an administrator.';

/** Changes a user. Deactivation ends the user's credentials; it and a demotion answer once they bind everywhere. */
export const updateUser = ({ store, auditRelay, events }: IdentityContext): RpcOf<'identity', 'updateUser'> => ({
  allow: callers({ scope: 'users:write' }),
  async handle({ userId, name, email, role, status }, call) {
    const given = Object.entries({ name, email, role, status }).filter(([, value]) => value !== undefined);
    const changes = Object.fromEntries(given) as Changes;
    const response = await once(store, call, (transaction) => change(transaction, call, events, userId, changes));
    auditRelay.nudge();
    events.nudge();
    if (changes.status === 'deactivated' || changes.role === 'member') await untilSettled(0);
    return response;
  },
});

async function change({ em, sql }: Transaction, call: Call, events: UserEvents, userId: string, changes: Changes) {
  const { organizationId } = call.tenant;
  const othersRemain = await lockOtherAdmins(sql, organizationId, userId);
  const user = await em.findOne(User, { organizationId, id: userId });
  if (!user) throw new ServiceError('not_found');
  const before = { kind: user.kind, role: user.role, status: user.status };
  em.assign(user, { ...changes, updatedAt: new Date(processClock.now()) });
  checkRights(call.tenant, userId, before, user, othersRemain);
  await flush(em);
  const isEnd = endsCredentials(before, user);
  const ended = isEnd ? await revokeCredentialsOf(sql, organizationId, userId) : undefined;
  if (isEnd) await events.deactivated(sql, organizationId, userId, user.updatedAt);
  const endedIds = ended ? [...ended.apiKeys, ...ended.applications] : [];
  await writeAudit(sql, call, {
    action: isEnd ? 'user.deactivated' : 'user.updated',
    organizationId,
    environment: '',
    target: { type: 'user', id: userId },
    changes: { ...changes, ...(endedIds.length > 0 && { ended_credentials: endedIds }) },
  });
  return {
    user: {
      id: user.id,
      name: user.name,
      email: user.email,
      role: user.role,
      status: user.status,
      createdAt: user.createdAt.toISOString(),
    },
    ...(ended && { endedCredentials: { apiKeys: ended.apiKeys.length, oauthApplications: ended.applications.length } }),
  };
}

/** Throws when this caller may not make this change; under the lock, so that two changes cannot each leave the other's administrator. */
function checkRights(caller: Principal, userId: string, before: Standing, after: Standing, othersRemain: boolean): void {
  if (before.kind === 'service' && before.role !== after.role)
    throw new ServiceError('invalid_request', { message: serviceUserRole, param: 'role' });
  if (unseatsAdmin(before, after) && !caller.admin) throw new ServiceError('admin_required', { message: actsAgainstAdmin });
  if (seatsAdmin(before, after) && caller.role !== 'admin') throw new ServiceError('admin_required', { message: makesAdmin });
  if (leavesNoAdmin(before, after, othersRemain)) throw new ServiceError('last_admin');
  const isChanged = before.role !== after.role || before.status !== after.status;
  if (caller.userId === userId && isChanged) throw new ServiceError('own_role_or_status');
}

async function flush(em: Transaction['em']): Promise<void> {
  try {
    await em.flush();
  } catch (cause) {
    if (isViolation(cause, 'users_email_unique')) throw new ServiceError('email_taken', { param: 'email', cause });
    throw cause;
  }
}
