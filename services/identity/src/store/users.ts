import { type Role, ServiceError } from '@agent-service/contracts';
import { type Page, type Relay, type Sql, writeEvents } from '@agent-service/store';
import type { EntityManager } from '@mikro-orm/postgresql';
import { User, type UserRow } from './entities.ts';

const maxAdministrators = 100;

export interface UserFilter {
  /** An empty field matches every user. */
  readonly role: string;
  readonly status: string;
}

/** Newest first. One row more than `limit` shows that there is a further page. */
export function selectUsers(
  em: EntityManager,
  organizationId: string,
  { role, status }: UserFilter,
  after: Page['after'] | undefined,
  limit: number,
): Promise<UserRow[]> {
  const [time, lastId] = after ?? [];
  const createdAt = new Date(time ?? 0);
  return em.find(
    User,
    {
      organizationId,
      ...(role !== '' && { role: role as UserRow['role'] }),
      ...(status !== '' && { status: status as UserRow['status'] }),
      // The first condition alone is a range of the index.
      ...(after && { createdAt: { $lte: createdAt }, $or: [{ createdAt: { $lt: createdAt } }, { id: { $lt: String(lastId) } }] }),
    },
    { orderBy: { createdAt: 'desc', id: 'desc' }, limit: limit + 1 },
  );
}

/** The people who manage an organization, oldest first. */
export const selectAdministrators = (em: EntityManager, organizationId: string): Promise<UserRow[]> =>
  em.find(
    User,
    { organizationId, role: 'admin', status: 'active', kind: 'person' },
    { orderBy: { createdAt: 'asc', id: 'asc' }, limit: maxAdministrators },
  );

export interface UserKey {
  readonly organizationId: string;
  readonly userId: string;
}

/** A row for each key, in order; undefined where there is no such user. */
export async function findUsers(sql: Sql, keys: readonly UserKey[]): Promise<(UserRow | undefined)[]> {
  const rows = await sql<Omit<UserRow, 'createdAt'> & { createdAt: string }>(findUsersStatement, [
    keys.map((key) => key.organizationId),
    keys.map((key) => key.userId),
  ]);
  return rows.map((row) => (row.id === null ? undefined : { ...row, createdAt: new Date(row.createdAt) }));
}

const findUsersStatement = `
  select id, name, email, role, status, created_at as "createdAt", kind
  from unnest($1::text[], $2::text[]) with ordinality as wanted (organization_id, user_id, position)
  left join users on users.organization_id = wanted.organization_id and users.id = wanted.user_id order by position`;

interface Self {
  readonly user: UserRow;
  readonly organizationName: string;
  readonly isKey: boolean;
  readonly credentialName: string;
  readonly credentialEndsAt: Date | null;
}

interface Caller {
  readonly organizationId: string;
  readonly userId: string;
  readonly credentialId: string;
}

/** The user, organization and credential of a caller. */
export async function findSelf(sql: Sql, { organizationId, userId, credentialId }: Caller): Promise<Self | undefined> {
  const [row] = await sql<
    Omit<UserRow, 'createdAt'> & Omit<Self, 'user' | 'credentialEndsAt'> & { createdAt: string; endsAt: string | null }
  >(findSelfStatement, [organizationId, userId, credentialId]);
  if (!row) return undefined;
  const { id, name, email, role, status, createdAt, kind, endsAt, ...rest } = row;
  const user = { id, name, email, role, status, kind, createdAt: new Date(createdAt) };
  return { ...rest, user, credentialEndsAt: endsAt === null ? null : new Date(endsAt) };
}

const findSelfStatement = `
  select users.id, users.name, email, role, status, users.created_at as "createdAt", kind, organizations.name as "organizationName",
    api_keys.id is not null as "isKey", coalesce(api_keys.name, oauth_clients.name, '') as "credentialName",
    coalesce(api_keys.revoked_at, oauth_clients.revoked_at) as "endsAt"
  from users join organizations on organizations.id = users.organization_id
  left join api_keys on api_keys.id = $3 and api_keys.organization_id = users.organization_id
  left join oauth_clients on oauth_clients.id = $3 and oauth_clients.organization_id = users.organization_id
  where users.organization_id = $1 and users.id = $2`;

/** Reads the counters, so that the cost does not grow with the number of users. */
export async function countUsers(sql: Sql, organizationId: string, { role, status }: UserFilter): Promise<number> {
  const [row] = await sql<{ total: string }>(countUsersStatement, [organizationId, role, status]);
  return Number(row?.total ?? 0);
}

const countUsersStatement = `
  select coalesce(sum(users), 0) as total from user_counts
  where organization_id = $1 and ($2 = '' or role = $2) and ($3 = '' or status = $3)`;

/**
 * True if a person other than this user is an active administrator. Holds locks against other changes of administrators and of this user.
 * Service users do not count: an application cannot manage an organization.
 */
export async function lockOtherAdmins(sql: Sql, organizationId: string, userId: string): Promise<boolean> {
  await lockOrganization(sql, organizationId);
  await sql(lockUserAlone, [organizationId, userId]);
  return (await sql(findOtherAdmin, [organizationId, userId])).length > 0;
}

/** Holds a lock against every such lock of this organization. Take it before locks of users. */
export async function lockOrganization(sql: Sql, organizationId: string): Promise<void> {
  await sql(lockOrganizationStatement, [organizationId]);
}

/** Not `for update`: a new user refers to the organization, and two requests with the same e-mail address would wait for each other. */
const lockOrganizationStatement = 'select 1 from organizations where id = $1 for no key update';
const findOtherAdmin = `
  select 1 from users where organization_id = $1 and role = 'admin' and status = 'active' and kind = 'person' and id <> $2 limit 1`;

/** The role of the user, empty for a service user. The lock makes a deactivation wait, so that it also revokes the new credential. */
export const lockActiveUser = (sql: Sql, organizationId: string, userId: string): Promise<Role | ''> =>
  lockWith(lockUser, sql, organizationId, userId);

/** Locks like `lockActiveUser`, for a change of how the user signs in: other such changes and new sessions of the user wait as well. */
export const lockSignInOf = (sql: Sql, organizationId: string, userId: string): Promise<Role | ''> =>
  lockWith(lockUserAlone, sql, organizationId, userId);

async function lockWith(statement: string, sql: Sql, organizationId: string, userId: string): Promise<Role | ''> {
  const [user] = await sql<{ status: string; role: Role | '' }>(statement, [organizationId, userId]);
  if (!user) throw new ServiceError('not_found', { message: 'There is no such user in this organization.' });
  if (user.status !== 'active') throw new ServiceError('user_deactivated');
  return user.role;
}

const readUser = `select status, case when kind = 'person' then role else '' end as role from users where organization_id = $1 and id = $2`;
const lockUser = `${readUser} for share`;
const lockUserAlone = `${readUser} for no key update`;

/** The prepared statements of this file; a test prepares each against the migrated schema. */
export const userStatements = {
  findUsersStatement,
  findSelfStatement,
  countUsersStatement,
  lockOrganization: lockOrganizationStatement,
  findOtherAdmin,
  lockUser,
  lockUserAlone,
};

/** The events of users for webhooks. Records nothing where webhooks are off. */
export interface UserEvents {
  addRegistered(sql: Sql, organizationId: string, user: { id: string; role: string; createdAt: string }): Promise<void>;
  addDeactivated(sql: Sql, organizationId: string, userId: string, at: Date): Promise<void>;
  /** Call it after the commit. */
  nudge(): void;
}

/** Users belong to the organization, so their events belong to both environments. */
export function createUserEvents(relay: Relay | undefined): UserEvents {
  const add = async (sql: Sql, event: Parameters<typeof writeEvents>[1][number]) => {
    if (relay) await writeEvents(sql, [event]);
  };
  return {
    addRegistered(sql, organizationId, { id, role, createdAt }) {
      const data = { organization_id: organizationId, user_id: id, role, registered_at: createdAt };
      return add(sql, { type: 'user.registered', organizationId, environment: '', createdAt, data });
    },
    addDeactivated(sql, organizationId, userId, at) {
      const createdAt = at.toISOString();
      const data = { organization_id: organizationId, user_id: userId, deactivated_at: createdAt };
      return add(sql, { type: 'user.deactivated', organizationId, environment: '', createdAt, data });
    },
    nudge: () => relay?.nudge(),
  };
}
