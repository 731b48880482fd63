import type { Page, Sql } from '@agent-service/store';
import type { Role, UserStatus } from '../domain/user-rules.ts';

export interface UserRow {
  id: string;
  name: string;
  email: string;
  role: Role;
  status: UserStatus;
  createdAt: string;
}

const columns = `id, name, email, role, status, created_at as "createdAt"`;

export interface UserKey {
  organizationId: string;
  userId: string;
}

/** One row for each key, in order; undefined where there is no such user. */
export async function findUsers(sql: Sql, keys: readonly UserKey[]): Promise<(UserRow | undefined)[]> {
  const rows = await sql<Partial<UserRow>>(
    `select ${columns} from unnest($1::text[], $2::text[]) with ordinality as wanted(organization_id, user_id, position)
     left join users on users.organization_id = wanted.organization_id and users.id = wanted.user_id order by position`,
    [keys.map((key) => key.organizationId), keys.map((key) => key.userId)],
  );
  return rows.map((row) => (row.id === null ? undefined : (row as UserRow)));
}

export interface UserFilter {
  role: string;
  status: string;
}

/** Newest first; one row more than asked for tells that there is a further page. */
export function listUsers(
  sql: Sql,
  organizationId: string,
  { role, status }: UserFilter,
  after: Page['after'] | undefined,
  limit: number,
): Promise<UserRow[]> {
  const values: unknown[] = [organizationId, limit + 1];
  const where = ['organization_id = $1'];
  const add = (condition: (first: number) => string, ...added: unknown[]) => {
    where.push(condition(values.length + 1));
    values.push(...added);
  };
  if (role) add((n) => `role = $${n}`, role);
  if (status) add((n) => `status = $${n}`, status);
  if (after) add((n) => `(created_at, id) < ($${n}::timestamptz, $${n + 1})`, ...after);
  return sql<UserRow>(`select ${columns} from users where ${where.join(' and ')} order by created_at desc, id desc limit $2`, values);
}

const administratorsAtMost = 100;

/** The people who manage an organization, longest there first. */
export function listAdministrators(sql: Sql, organizationId: string): Promise<UserRow[]> {
  return sql<UserRow>(
    `select ${columns} from users where organization_id = $1 and role = 'admin' and status = 'active' and kind = 'person'
     order by created_at, id limit ${administratorsAtMost}`,
    [organizationId],
  );
}

/** From the counters: the cost does not grow with the users. */
export async function countUsers(sql: Sql, organizationId: string, { role, status }: UserFilter): Promise<number> {
  const [row] = await sql<{ total: string }>(
    `select coalesce(sum(users), 0) as total from user_counts where organization_id = $1 and ($2 = '' or role = $2) and ($3 = '' or status = $3)`,
    [organizationId, role, status],
  );
  return Number(row?.total ?? 0);
}

/**
 * Whether another person than this user is an active administrator; holds off whoever else would change one. Service
 * users do not count: an application can not manage an organization.
 */
export async function lockOtherAdmins(sql: Sql, organizationId: string, userId: string): Promise<boolean> {
  await sql('select 1 from organizations where id = $1 for update', [organizationId]);
  const others = await sql(
    `select 1 from users where organization_id = $1 and role = 'admin' and status = 'active' and kind = 'person' and id <> $2 limit 1`,
    [organizationId, userId],
  );
  return others.length > 0;
}
