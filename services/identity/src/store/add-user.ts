import { type Call, newId, ServiceError } from '@agent-service/contracts';
import { processClock } from '@agent-service/runtime';
import { isViolation, type Transaction, writeAudit } from '@agent-service/store';
import type { Role } from '../domain/user-rules.ts';
import { User } from './entities.ts';

interface NewUser {
  organizationId: string;
  name: string;
  email: string;
  role: Role;
  kind: 'person' | 'service';
}

/** Registers a user in an organization; both environments see them. */
export async function addUser({ em, sql }: Transaction, call: Call, { organizationId, name, email, role, kind }: NewUser) {
  const createdAt = new Date(processClock.now());
  const id = newId('usr', createdAt.getTime());
  em.create(User, { organizationId, id, kind, name, email, role, status: 'active', createdAt, updatedAt: createdAt });
  try {
    await em.flush();
  } catch (cause) {
    if (isViolation(cause, 'users_email_unique')) throw new ServiceError('email_taken', { param: 'email', cause });
    if (isViolation(cause, 'users_organization_id_fkey'))
      throw new ServiceError('not_found', { message: 'There is no such organization.', cause });
    throw cause;
  }
  await writeAudit(sql, call, {
    action: 'user.created',
    organizationId,
    environment: '',
    target: { type: 'user', id },
    changes: { role, kind },
  });
  return { id, name, email, role, status: 'active', createdAt: createdAt.toISOString() };
}
