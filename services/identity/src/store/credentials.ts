import type { Sql } from '@agent-service/store';

/** A key or an OAuth application, as authentication needs it. */
export interface Credential {
  id: string;
  organizationId: string;
  environment: 'live' | 'test';
  userId: string;
  scopes: string[];
  admin: boolean;
  revoked: boolean;
}

export interface StoredKey extends Credential {
  hash: string;
}

const keyColumns = `id, organization_id as "organizationId", environment, user_id as "userId", scopes, admin, revoked_at is not null as revoked`;

export const keysByHash = (sql: Sql, hashes: readonly string[]): Promise<StoredKey[]> =>
  hashes.length === 0 ? Promise.resolve([]) : sql<StoredKey>(`select hash, ${keyColumns} from api_keys where hash = any($1)`, [hashes]);

/** The credentials behind tokens, whatever their kind. */
export async function credentialsById(sql: Sql, ids: readonly string[]): Promise<Credential[]> {
  if (ids.length === 0) return [];
  return sql<Credential>(
    `select ${keyColumns} from api_keys where id = any($1)
     union all
     select id, organization_id, environment, user_id, scopes, false, revoked_at is not null from oauth_clients where id = any($1)`,
    [ids],
  );
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

/** Ends every credential of a user; answers with their ids. */
export async function revokeCredentialsOf(sql: Sql, organizationId: string, userId: string): Promise<string[]> {
  const revoke = (table: string) =>
    `update ${table} set revoked_at = clock_timestamp() where organization_id = $1 and user_id = $2 and revoked_at is null returning id`;
  const rows = await sql<{ id: string }>(
    `with keys as (${revoke('api_keys')}), clients as (${revoke('oauth_clients')}) select id from keys union all select id from clients`,
    [organizationId, userId],
  );
  return rows.map((row) => row.id);
}
