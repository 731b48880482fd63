import { type Call, callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import { isViolation, once, type Transaction, writeAudit } from '@agent-service/store';
import type { IdentityContext } from '../context.ts';
import { endsCredentials, leavesNoAdmin, type Role, type UserStatus, unseatsAdmin } from '../domain/user-rules.ts';
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

/** Changes a user. Deactivation ends the user's credentials, and answers once they are dead everywhere. */
export const updateUser = ({ store, auditRelay, events }: IdentityContext): RpcOf<'identity', 'updateUser'> => ({
  allow: callers({ scope: 'users:write' }),
  async handle({ userId, name, email, role, status }, call) {
    const given = Object.entries({ name, email, role, status }).filter(([, value]) => value !== undefined);
    const changes = Object.fromEntries(given) as Changes;
    const response = await once(store, call, async (transaction) => ({ user: await change(transaction, call, events, userId, changes) }));
    auditRelay.nudge();
    events.nudge();
    if (changes.status === 'deactivated') await untilSettled(0);
    return response;
  },
});

async function change({ em, sql }: Transaction, call: Call, events: UserEvents, userId: string, changes: Changes) {
  const { organizationId, admin } = call.tenant;
  const othersRemain = await lockOtherAdmins(sql, organizationId, userId);
  const user = await em.findOne(User, { organizationId, id: userId });
  if (!user) throw new ServiceError('not_found');
  const before = { kind: user.kind, role: user.role, status: user.status };
  em.assign(user, { ...changes, updatedAt: new Date() });
  if (unseatsAdmin(before, user) && !admin) throw new ServiceError('admin_required', { message: actsAgainstAdmin });
  if (leavesNoAdmin(before, user, othersRemain)) throw new ServiceError('last_admin');
  await flush(em);
  const ended = endsCredentials(before, user) ? await revokeCredentialsOf(sql, organizationId, userId) : [];
  const action = endsCredentials(before, user) ? 'user.deactivated' : 'user.updated';
  if (endsCredentials(before, user)) await events.deactivated(sql, organizationId, userId, user.updatedAt);
  await writeAudit(sql, call, {
    action,
    organizationId,
    environment: '',
    target: { type: 'user', id: userId },
    changes: { ...changes, ...(ended.length > 0 && { ended_credentials: ended }) },
  });
  return { id: user.id, name: user.name, email: user.email, role: user.role, status: user.status, createdAt: user.createdAt.toISOString() };
}

async function flush(em: Transaction['em']): Promise<void> {
  try {
    await em.flush();
  } catch (cause) {
    if (isViolation(cause, 'users_email_unique')) throw new ServiceError('email_taken', { param: 'email', cause });
    throw cause;
  }
}
