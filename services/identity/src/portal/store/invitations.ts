import type { Role } from '@agent-service/contracts';
import { isoTime, type Sql } from '@agent-service/store';

export interface InvitationRow {
  readonly id: string;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly createdAt: string;
  readonly expiresAt: string;
}

export interface NewInvitation {
  readonly id: string;
  readonly organizationId: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly tokenHash: string;
  readonly createdBy: string;
  readonly lifetimeSeconds: number;
}

const withTimes = (row: InvitationRow): InvitationRow => ({
  ...row,
  createdAt: isoTime(row.createdAt),
  expiresAt: isoTime(row.expiresAt),
});

const columns = `invitation.id, invitation.organization_id as "organizationId", organizations.name as "organizationName", invitation.email,
  invitation.name, invitation.role, invitation.created_at as "createdAt", invitation.expires_at as "expiresAt"`;
const joinOrganization = 'join organizations on organizations.id = invitation.organization_id';
/** An invitation ends with its time, and with the rights of the administrator who made it. Not `exists`, which may read every administrator. */
const isOpen = `invitation.expires_at > clock_timestamp() and (select creator.role = 'admin' and creator.status = 'active' from users as creator
  where creator.organization_id = invitation.organization_id and creator.id = invitation.created_by)`;

/** Adds an invitation. It replaces an earlier one of the same address, whose link ends. */
export async function addInvitation(sql: Sql, invitation: NewInvitation): Promise<void> {
  const { id, organizationId, email, name, role, tokenHash, createdBy, lifetimeSeconds } = invitation;
  await sql(addInvitationStatement, [organizationId, id, email, name, role, tokenHash, createdBy, lifetimeSeconds]);
}

const addInvitationStatement = `
  insert into invitations (organization_id, id, email, name, role, token_hash, created_by, created_at, expires_at)
  select $1, $2, $3, $4, $5, $6, $7, now(), now() + $8::integer * interval '1 second'
  on conflict (organization_id, lower(email)) do update set id = excluded.id, email = excluded.email, name = excluded.name, role = excluded.role,
    token_hash = excluded.token_hash, created_by = excluded.created_by, created_at = excluded.created_at, expires_at = excluded.expires_at`;

/** True if a user of the organization has the address. */
export async function isUserEmail(sql: Sql, organizationId: string, email: string): Promise<boolean> {
  return (await sql(isUserEmailStatement, [organizationId, email])).length > 0;
}

const isUserEmailStatement = `select 1 from users where organization_id = $1 and lower(email) = lower($2) and email <> ''`;

/** Returns the open invitations, the newest first. */
export async function listInvitationsOf(sql: Sql, organizationId: string, limit: number): Promise<InvitationRow[]> {
  return (await sql<InvitationRow>(listInvitationsStatement, [organizationId, limit])).map(withTimes);
}

const listInvitationsStatement = `
  select ${columns} from invitations as invitation ${joinOrganization}
  where invitation.organization_id = $1 and ${isOpen}
  order by invitation.created_at desc, invitation.id desc limit $2`;

export async function findInvitation(sql: Sql, tokenHash: string): Promise<InvitationRow | undefined> {
  return (await sql<InvitationRow>(findInvitationStatement, [tokenHash])).map(withTimes)[0];
}

const findInvitationStatement = `
  select ${columns} from invitations as invitation ${joinOrganization}
  where invitation.token_hash = $1 and ${isOpen}`;

/** Uses up an invitation, so that it is accepted once; false if it was used, withdrawn or has ended. */
export async function takeInvitation(sql: Sql, tokenHash: string): Promise<boolean> {
  return (await sql(takeInvitationStatement, [tokenHash])).length > 0;
}

const takeInvitationStatement = `delete from invitations as invitation where invitation.token_hash = $1 and ${isOpen} returning 1`;

/** False if the organization has no such invitation. */
export async function removeInvitation(sql: Sql, organizationId: string, id: string): Promise<boolean> {
  return (await sql(removeInvitationStatement, [organizationId, id])).length > 0;
}

const removeInvitationStatement = 'delete from invitations where organization_id = $1 and id = $2 returning 1';

/** Adds a reset; it replaces an earlier one of the user. Resolves to its end. */
export async function addReset(
  sql: Sql,
  { organizationId, userId }: { readonly organizationId: string; readonly userId: string },
  tokenHash: string,
  lifetimeSeconds: number,
): Promise<string> {
  const [row] = await sql<{ expiresAt: string }>(addResetStatement, [organizationId, userId, tokenHash, lifetimeSeconds]);
  return isoTime(row?.expiresAt ?? '');
}

const addResetStatement = `
  insert into password_resets (organization_id, user_id, token_hash, created_at, expires_at)
  select $1, $2, $3, now(), now() + $4::integer * interval '1 second'
  on conflict (organization_id, user_id) do update
  set token_hash = excluded.token_hash, created_at = excluded.created_at, expires_at = excluded.expires_at
  returning expires_at as "expiresAt"`;

interface Reset {
  readonly organizationId: string;
  readonly userId: string;
}

export async function findReset(sql: Sql, tokenHash: string): Promise<Reset | undefined> {
  return (await sql<Reset>(findResetStatement, [tokenHash]))[0];
}

const findResetStatement = `
  select organization_id as "organizationId", user_id as "userId" from password_resets
  where token_hash = $1 and expires_at > clock_timestamp()`;

/** Uses up a reset; false if it was used, replaced or has expired. */
export async function takeReset(sql: Sql, tokenHash: string): Promise<boolean> {
  return (await sql(takeResetStatement, [tokenHash])).length > 0;
}

const takeResetStatement = 'delete from password_resets where token_hash = $1 and expires_at > clock_timestamp() returning 1';

/** Ends the links with which passwords of the organization can be set; with a user, the link of that user alone. */
export async function removeResets(sql: Sql, organizationId: string, userId?: string): Promise<void> {
  if (userId === undefined) await sql(removeResetsStatement, [organizationId]);
  else await sql(removeResetsOfStatement, [organizationId, userId]);
}

const removeResetsStatement = 'delete from password_resets where organization_id = $1';
const removeResetsOfStatement = `${removeResetsStatement} and user_id = $2`;

/** Ends the invitations that this administrator has made: a later activation or promotion restores none. */
export async function removeInvitationsOf(sql: Sql, organizationId: string, creatorId: string): Promise<void> {
  await sql(removeInvitationsOfStatement, [organizationId, creatorId]);
}

const removeInvitationsOfStatement = 'delete from invitations where organization_id = $1 and created_by = $2';

export const invitationStatements = {
  removeInvitationsOfStatement,
  removeResetsStatement,
  removeResetsOfStatement,
  addInvitationStatement,
  isUserEmailStatement,
  listInvitationsStatement,
  findInvitationStatement,
  takeInvitationStatement,
  removeInvitationStatement,
  addResetStatement,
  findResetStatement,
  takeResetStatement,
};
