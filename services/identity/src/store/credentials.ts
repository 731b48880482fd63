import { cutToRole, type Environment, type Role, type Tenant } from '@agent-service/contracts';
import type { SealedField, Sql } from '@agent-service/store';

/** A key or an OAuth application, with the scopes and the administrator flag that its user's role allows. */
export interface Credential {
  id: string;
  organizationId: string;
  environment: Environment;
  userId: string;
  /** Empty for an application with a service user of its own. */
  role: Role | '';
  scopes: string[];
  admin: boolean;
  revoked: boolean;
  /** How long the credential is still valid; null while no end is set. */
  endsInMs: number | null;
  tokenTtlSeconds: number | null;
}

/** With the keyed hash of the key or of the client secret. */
interface StoredCredential extends Credential {
  hash: string;
  /** The hash of an application's secret from before the last rotation, while it is valid. */
  previousHash: string | null;
  /** Tokens of an application that were issued before this second since 1970 are refused. */
  tokensSince: number | null;
}

// The user is read with the credential, so that a change of its role is effective from its commit on.
const columns = `credential.organization_id as "organizationId", credential.id, credential.environment, credential.user_id as "userId",
  credential.scopes`;
const joinOwner = 'join users as owner on owner.organization_id = credential.organization_id and owner.id = credential.user_id';

const keys = `select ${columns}, credential.hash,
  owner.status <> 'active' or credential.revoked_at is not null
    and not (credential.ends_later and credential.revoked_at > clock_timestamp()) as revoked,
  (extract(epoch from credential.revoked_at - clock_timestamp()) * 1000)::float8 as "endsInMs",
  case when owner.kind = 'person' then owner.role else 'member' end as role,
  credential.admin and owner.kind = 'person' and owner.role = 'admin' as admin, credential.token_ttl_seconds as "tokenTtlSeconds",
  null::text as "previousHash", null::float8 as "tokensSince"
  from api_keys as credential ${joinOwner}`;
const applications = `select ${columns}, credential.secret_hash as hash,
  owner.status <> 'active' or credential.revoked_at is not null as revoked, null::float8 as "endsInMs",
  case when owner.kind = 'person' then owner.role else '' end as role,
  false as admin, null::integer as "tokenTtlSeconds",
  case when credential.previous_secret_until > clock_timestamp() then credential.previous_secret_hash end as "previousHash",
  extract(epoch from credential.tokens_since)::float8 as "tokensSince" from oauth_clients as credential ${joinOwner}`;

const findKeysByHash = `${keys} where credential.hash = any($1)`;
// A rotation sets the time before which tokens are refused, and commits later. The lock waits for it, so that no secret proves a token from
// after that time once it is replaced.
const findApplication = `${applications} where credential.id = $1 for share of credential`;
const findCredentials = `${keys} where credential.id = any($1) union all ${applications} where credential.id = any($1)`;

const limitScopes = (rows: StoredCredential[]): StoredCredential[] => rows.map((row) => ({ ...row, scopes: cutToRole(row.scopes, row) }));

export async function keysByHash(sql: Sql, hashes: readonly string[]): Promise<StoredCredential[]> {
  return hashes.length === 0 ? [] : limitScopes(await sql<StoredCredential>(findKeysByHash, [hashes]));
}

export async function applicationById(sql: Sql, id: string): Promise<StoredCredential | undefined> {
  return limitScopes(await sql<StoredCredential>(findApplication, [id]))[0];
}

/** Keys and applications. */
export async function credentialsById(sql: Sql, ids: readonly string[]): Promise<StoredCredential[]> {
  return ids.length === 0 ? [] : limitScopes(await sql<StoredCredential>(findCredentials, [ids]));
}

export type CredentialTable = 'api_keys' | 'oauth_clients';

interface RevokedCredential {
  readonly organizationId: string;
  readonly environment: Environment;
  readonly userId: string;
  readonly revokedForMs: number;
  /** False if it was revoked before. */
  readonly isNew: boolean;
}

/** Revokes a credential of the tenant, or of any tenant for undefined; resolves to undefined if there is none. */
export async function revokeCredential(
  sql: Sql,
  table: CredentialTable,
  id: string,
  tenant: Tenant | undefined,
): Promise<RevokedCredential | undefined> {
  const values = [id, tenant?.organizationId ?? null, tenant?.environment ?? null];
  return (await sql<RevokedCredential>(revokeOne[table], values))[0];
}

const isKey = (table: CredentialTable): boolean => table === 'api_keys';

// By the id alone, which is unique: with the organization the planner may read all credentials of a user.
const revokeStatement = (table: CredentialTable) => `
  with before as (
    select * from ${table}
    where id = $1 and ($2::text is null or (organization_id = $2 and environment = $3)) for update)
  update ${table} as credential set revoked_at = least(before.revoked_at, clock_timestamp())${isKey(table) ? ', ends_later = false' : ''}
  from before where credential.id = before.id
  returning credential.organization_id as "organizationId", credential.environment, credential.user_id as "userId",
    before.revoked_at is null${isKey(table) ? ' or before.ends_later' : ''} as "isNew",
    (extract(epoch from clock_timestamp() - credential.revoked_at) * 1000)::float8 as "revokedForMs"`;
const revokeOne = { api_keys: revokeStatement('api_keys'), oauth_clients: revokeStatement('oauth_clients') };

interface RevokedIds {
  readonly apiKeys: string[];
  readonly applications: string[];
}

/** Revokes every credential of a user; resolves to the ids of those that were not revoked before. */
export async function revokeCredentialsOf(sql: Sql, organizationId: string, userId: string): Promise<RevokedIds> {
  const rows = await sql<{ id: string; isKey: boolean }>(revokeOfUser, [organizationId, userId]);
  const idsOf = (isKey: boolean) => rows.filter((row) => row.isKey === isKey).map((row) => row.id);
  return { apiKeys: idsOf(true), applications: idsOf(false) };
}

const ofUser = 'organization_id = $1 and user_id = $2';
const revokeOfUser = `
  with keys as (update api_keys set revoked_at = least(revoked_at, clock_timestamp()), ends_later = false
      where ${ofUser} and (revoked_at is null or ends_later and revoked_at > clock_timestamp()) returning id),
    clients as (update oauth_clients set revoked_at = clock_timestamp() where ${ofUser} and revoked_at is null returning id)
  select id, true as "isKey" from keys union all select id, false from clients`;

/** Secrets in the outcomes of creations and rotations. They are removed after a day and not sealed again. */
export const sealedOutcomes: SealedField = {
  name: 'idempotency_records.response',
  table: 'idempotency_records',
  value: `(response ->> 'sealedSecret')`,
};

/** The prepared statements of this file; a test prepares each against the migrated schema. */
export const credentialStatements = {
  findKeysByHash,
  findApplication,
  findCredentials,
  revokeKey: revokeOne.api_keys,
  revokeApplication: revokeOne.oauth_clients,
  revokeOfUser,
};
