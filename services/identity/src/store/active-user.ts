import { type Role, ServiceError } from '@agent-service/contracts';
import type { Sql } from '@agent-service/store';

interface Owner {
  status: string;
  /** Empty for a service user. */
  role: Role | '';
}

/** The role of the user; credentials are made for active users only. The lock orders this against a deactivation. */
export async function requireActiveUser(sql: Sql, organizationId: string, userId: string): Promise<Role | ''> {
  const [user] = await sql<Owner>(
    `select status, case when kind = 'person' then role else '' end as role from users where organization_id = $1 and id = $2 for share`,
    [organizationId, userId],
  );
  if (!user) throw new ServiceError('not_found', { message: 'There is no such user in this organization.' });
  if (user.status !== 'active') throw new ServiceError('user_deactivated');
  return user.role;
}
