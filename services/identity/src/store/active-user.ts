import { ServiceError } from '@agent-service/contracts';
import type { Sql } from '@agent-service/store';

/** Credentials are made for active users only; the lock keeps a deactivation from passing by unseen. */
export async function requireActiveUser(sql: Sql, organizationId: string, userId: string): Promise<void> {
  const [user] = await sql<{ status: string }>('select status from users where organization_id = $1 and id = $2 for share', [
    organizationId,
    userId,
  ]);
  if (!user) throw new ServiceError('not_found', { message: 'There is no such user in this organization.' });
  if (user.status !== 'active') throw new ServiceError('user_deactivated');
}
