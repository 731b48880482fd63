import { type Environment, type Role, scopesOfRole } from '@agent-service/contracts';
import { isoTime, type Sql } from '@agent-service/store';
import type { Credential } from '../../store/credentials.ts';

export type SessionMethod = 'password' | 'invitation' | 'openid_connect';

/** A session that is valid now, with its user as they are now. */
export interface SessionRow {
  readonly id: string;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly userId: string;
  readonly name: string;
  readonly email: string;
  readonly role: Role;
  readonly createdAt: string;
  readonly hasPassword: boolean;
  readonly hasTwoFactor: boolean;
  readonly expiresAt: string;
  /** Time until the session expires without use. */
  readonly leftMs: number;
  /** Time since the last use that was written. */
  readonly unusedMs: number;
  /** The sign-in was a short while ago, so that the person is probably present. */
  readonly isFresh: boolean;
}

/** How long a sign-in proves that its user is there, where there is no password to ask for. */
export const freshMinutes = 10;

/** Undefined for a session that has ended, or whose user is not active any more. */
export async function findSession(sql: Sql, tokenHash: string): Promise<SessionRow | undefined> {
  const [row] = await sql<SessionRow>(findSessionStatement, [tokenHash]);
  return row && { ...row, createdAt: isoTime(row.createdAt), expiresAt: isoTime(row.expiresAt) };
}

const isValid = `session.ends_at > clock_timestamp() and owner.status = 'active' and owner.kind = 'person'`;
const joinOwner = 'join users as owner on owner.organization_id = session.organization_id and owner.id = session.user_id';

const findSessionStatement = `
  select session.id, session.organization_id as "organizationId", organizations.name as "organizationName", owner.id as "userId",
    owner.name, owner.email, owner.role, owner.created_at as "createdAt", session.expires_at as "expiresAt",
    exists (select 1 from passwords where passwords.organization_id = owner.organization_id and passwords.user_id = owner.id) as "hasPassword",
    exists (select 1 from two_factors as factor where factor.organization_id = owner.organization_id and factor.user_id = owner.id
      and factor.confirmed_at is not null) as "hasTwoFactor",
    (extract(epoch from session.ends_at - clock_timestamp()) * 1000)::float8 as "leftMs",
    (extract(epoch from clock_timestamp() - session.last_used_at) * 1000)::float8 as "unusedMs",
    session.created_at > clock_timestamp() - interval '${freshMinutes} minutes' as "isFresh"
  from portal_sessions as session ${joinOwner} join organizations on organizations.id = session.organization_id
  where session.token_hash = $1 and ${isValid}`;

/** Moves the end of a session that is used. */
export async function useSession(sql: Sql, tokenHash: string, idleSeconds: number): Promise<void> {
  await sql(useSessionStatement, [tokenHash, idleSeconds]);
}

const useSessionStatement = `
  update portal_sessions set last_used_at = clock_timestamp(),
    ends_at = least(expires_at, clock_timestamp() + $2::integer * interval '1 second')
  where token_hash = $1 and ends_at > clock_timestamp()`;

export interface NewSession {
  readonly id: string;
  readonly organizationId: string;
  readonly userId: string;
  readonly tokenHash: string;
  readonly method: SessionMethod;
  readonly address: string;
  readonly userAgent: string;
  readonly idleSeconds: number;
  readonly maxSeconds: number;
}

const sessionsOfUser = 20;

/** Adds a session. A user has a bounded number; the one that was not used for the longest time ends. */
export async function addSession(sql: Sql, session: NewSession): Promise<void> {
  const { id, organizationId, userId, tokenHash, method, address, userAgent, idleSeconds, maxSeconds } = session;
  await sql(addSessionStatement, [organizationId, id, userId, tokenHash, method, address, userAgent, idleSeconds, maxSeconds]);
  await sql(endSurplusStatement, [organizationId, userId, sessionsOfUser]);
}

const addSessionStatement = `
  insert into portal_sessions
    (organization_id, id, user_id, token_hash, method, address, user_agent, created_at, last_used_at, ends_at, expires_at)
  select $1, $2, $3, $4, $5, $6, $7, now(), now(), now() + least($8::integer, $9::integer) * interval '1 second',
    now() + $9::integer * interval '1 second'`;
const endSurplusStatement = `
  delete from portal_sessions where organization_id = $1 and id in (
    select id from portal_sessions where organization_id = $1 and user_id = $2 order by last_used_at desc, id desc offset $3)`;

export interface ListedSessionRow {
  readonly id: string;
  readonly createdAt: string;
  readonly lastUsedAt: string;
  readonly address: string;
  readonly userAgent: string;
}

/** The valid sessions of a user, the last used one first. */
export async function listSessionsOf(sql: Sql, organizationId: string, userId: string): Promise<ListedSessionRow[]> {
  const rows = await sql<ListedSessionRow>(listSessionsStatement, [organizationId, userId, sessionsOfUser]);
  return rows.map((row) => ({ ...row, createdAt: isoTime(row.createdAt), lastUsedAt: isoTime(row.lastUsedAt) }));
}

const listSessionsStatement = `
  select id, created_at as "createdAt", last_used_at as "lastUsedAt", address, user_agent as "userAgent" from portal_sessions
  where organization_id = $1 and user_id = $2 and ends_at > clock_timestamp() order by last_used_at desc, id desc limit $3`;

/** False if the session has ended. Its end waits for the transaction. */
export async function lockSession(sql: Sql, { organizationId, id }: Pick<SessionRow, 'organizationId' | 'id'>): Promise<boolean> {
  return (await sql(lockSessionStatement, [organizationId, id])).length > 0;
}

const lockSessionStatement = 'select 1 from portal_sessions where organization_id = $1 and id = $2 for key share';

/** Ends one session of the user; false if there is none. */
export async function endSessionOf(sql: Sql, organizationId: string, userId: string, id: string): Promise<boolean> {
  return (await sql(endSessionStatement, [organizationId, userId, id])).length > 0;
}

const endSessionStatement = 'delete from portal_sessions where organization_id = $1 and user_id = $2 and id = $3 returning 1';

/** Ends every session of the user but this one; resolves to their ids. */
export async function endSessionsOf(sql: Sql, organizationId: string, userId: string, exceptId = ''): Promise<string[]> {
  return (await sql<{ id: string }>(endSessionsStatement, [organizationId, userId, exceptId])).map(({ id }) => id);
}

const endSessionsStatement = 'delete from portal_sessions where organization_id = $1 and user_id = $2 and id <> $3 returning id';

/** The facts of a session that authentication needs. */
export interface SessionCredential {
  readonly id: string;
  readonly organizationId: string;
  readonly userId: string;
  readonly role: Role;
  readonly endsInMs: number;
}

/** Returns the sessions with these ids that are valid. */
export async function sessionsById(sql: Sql, ids: readonly string[]): Promise<SessionCredential[]> {
  return ids.length === 0 ? [] : await sql<SessionCredential>(sessionsByIdStatement, [ids]);
}

const sessionsByIdStatement = `
  select session.id, session.organization_id as "organizationId", session.user_id as "userId", owner.role,
    (extract(epoch from session.ends_at - clock_timestamp()) * 1000)::float8 as "endsInMs"
  from portal_sessions as session ${joinOwner} where session.id = any($1) and ${isValid}`;

export const isSessionId = (credentialId: string): boolean => credentialId.startsWith('ses_');

/** A session as the credential of a token for one environment: everything that the user's role allows there. */
export const sessionCredential = (
  { id, organizationId, userId, role, endsInMs }: SessionCredential,
  environment: Environment,
): Credential & { tokensSince: null } => ({
  id,
  organizationId,
  environment,
  userId,
  role,
  scopes: [...scopesOfRole({ role, environment })],
  admin: role === 'admin',
  revoked: false,
  endsInMs,
  tokenTtlSeconds: null,
  tokensSince: null,
});

const removedAtOnce = 1_000;

/** Removes some rows whose time is over; resolves to how many. */
export async function removeEnded(sql: Sql): Promise<number> {
  let removed = 0;
  for (const statement of Object.values(removals)) removed += (await sql(statement, [removedAtOnce])).length;
  return removed;
}

// By ctid: a join by key reads the whole table for each step.
const removal = (table: string, time: string) => `
  delete from ${table} where ctid = any(array(
    select ctid from ${table} where ${time} <= clock_timestamp() order by ${time} limit $1 for update skip locked)) returning 1`;

const removals = {
  removeSessions: removal('portal_sessions', 'ends_at'),
  removeInvitations: removal('invitations', 'expires_at'),
  removeResets: removal('password_resets', 'expires_at'),
  removeChoices: removal('organization_choices', 'expires_at'),
  removeLimits: removal('sign_in_limits', 'ends_at'),
};

export const sessionStatements = {
  findSessionStatement,
  useSessionStatement,
  addSessionStatement,
  endSurplusStatement,
  listSessionsStatement,
  lockSessionStatement,
  endSessionStatement,
  endSessionsStatement,
  sessionsByIdStatement,
  ...removals,
};
