import { cutToRole, type Role } from '@agent-service/contracts';
import type { Sql } from '@agent-service/store';

/** A key or an OAuth application, with what its user's role leaves of its scopes and of its administrator flag. */
export interface Credential {
  id: string;
  organizationId: string;
  environment: 'live' | 'test';
  userId: string;
  /** Empty for an application with a service user of its own. */
  role: Role | '';
  scopes: string[];
  admin: boolean;
  revoked: boolean;
  tokenTtlSeconds: number | null;
}

/** With the keyed hash of the key or of the client secret. */
interface StoredCredential extends Credential {
  hash: string;
}

// The user is read with the credential, so that a role binds from the moment it is committed.
const columns = `credential.organization_id as "organizationId", credential.id, credential.environment, credential.user_id as "userId",
  credential.scopes, credential.revoked_at is not null or owner.status <> 'active' as revoked`;
const ownedBy = 'join users as owner on owner.organization_id = credential.organization_id and owner.id = credential.user_id';

const keys = `select ${columns}, credential.hash, case when owner.kind = 'person' then owner.role else 'member' end as role,
  credential.admin and owner.kind = 'person' and owner.role = 'admin' as admin, credential.token_ttl_seconds as "tokenTtlSeconds"
  from api_keys as credential ${ownedBy}`;
const applications = `select ${columns}, credential.secret_hash as hash, case when owner.kind = 'person' then owner.role else '' end as role,
  false as admin, null::integer as "tokenTtlSeconds" from oauth_clients as credential ${ownedBy}`;

const cut = (rows: StoredCredential[]): StoredCredential[] => rows.map((row) => ({ ...row, scopes: cutToRole(row.scopes, row) }));

export async function keysByHash(sql: Sql, hashes: readonly string[]): Promise<StoredCredential[]> {
  if (hashes.length === 0) return [];
  return cut(await sql<StoredCredential>(`${keys} where credential.hash = any($1)`, [hashes]));
}

export async function applicationById(sql: Sql, id: string): Promise<StoredCredential | undefined> {
  return cut(await sql<StoredCredential>(`${applications} where credential.id = $1`, [id]))[0];
}

/** The credentials behind tokens, whatever their kind. */
export async function credentialsById(sql: Sql, ids: readonly string[]): Promise<Credential[]> {
  if (ids.length === 0) return [];
  const both = `${keys} where credential.id = any($1) union all ${applications} where credential.id = any($1)`;
  return cut(await sql<StoredCredential>(both, [ids]));
}

export interface Revoked {
  organizationId: string;
  environment: 'live' | 'test';
  userId: string;
  revokedForMs: number;
  /** False when it had been revoked before. */
  now: boolean;
}

interface Place {
  organizationId: string;
  environment: string;
}

/** Ends a credential; undefined when there is none of that id in the place (anywhere, for an operator). */
export async function revokeCredential(
  sql: Sql,
  table: 'api_keys' | 'oauth_clients',
  id: string,
  place: Place | undefined,
): Promise<Revoked | undefined> {
  const [row] = await sql<Revoked>(
    `with before as (
       select organization_id, id, revoked_at from ${table}
       where id = $1 and ($2::text is null or (organization_id = $2 and environment = $3)) for update)
     update ${table} as credential set revoked_at = coalesce(before.revoked_at, clock_timestamp())
     from before where credential.organization_id = before.organization_id and credential.id = before.id
     returning credential.organization_id as "organizationId", environment, user_id as "userId", before.revoked_at is null as now,
       (extract(epoch from clock_timestamp() - credential.revoked_at) * 1000)::float8 as "revokedForMs"`,
    [id, place?.organizationId ?? null, place?.environment ?? null],
  );
  return row;
}

export interface EndedCredentials {
  apiKeys: string[];
  applications: string[];
}

/** Ends every credential of a user; answers with the ids of those that had not ended before. */
export async function revokeCredentialsOf(sql: Sql, organizationId: string, userId: string): Promise<EndedCredentials> {
  const revoke = (table: string) =>
    `update ${table} set revoked_at = clock_timestamp() where organization_id = $1 and user_id = $2 and revoked_at is null returning id`;
  const rows = await sql<{ id: string; isKey: boolean }>(
    `with keys as (${revoke('api_keys')}), clients as (${revoke('oauth_clients')})
     select id, true as "isKey" from keys union all select id, false from clients`,
    [organizationId, userId],
  );
  const idsOf = (isKey: boolean) => rows.filter((row) => row.isKey === isKey).map((row) => row.id);
  return { apiKeys: idsOf(true), applications: idsOf(false) };
}
