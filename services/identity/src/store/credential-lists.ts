import { cutToRole, type Role, type Tenant } from '@agent-service/contracts';
import type { Page, Sql } from '@agent-service/store';

export interface CredentialFilter {
  /** An empty field matches every credential. */
  readonly userId: string;
  readonly status: '' | 'active' | 'ended';
}

/** A key or an application as administrators see it. Fields of the other kind are empty. */
export interface CredentialDetail {
  readonly id: string;
  readonly name: string;
  readonly hint: string;
  readonly userId: string;
  /** Empty for a service user. */
  readonly role: Role | '';
  /** Limited to the role. */
  readonly scopes: string[];
  readonly admin: boolean;
  readonly tokenTtlSeconds: number | null;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
  readonly endsAt: string | null;
  readonly replacedBy: string;
  readonly previousSecretEndsAt: string | null;
}

export type CredentialKind = 'api_key' | 'oauth_application';

const common = `credential.id, credential.name, credential.user_id as "userId", credential.scopes, credential.created_at as "createdAt",
  uses.last_used_at as "lastUsedAt", credential.revoked_at as "endsAt"`;
const joins = `join users as owner on owner.organization_id = credential.organization_id and owner.id = credential.user_id
  left join credential_uses as uses on uses.credential_id = credential.id`;

const selects: Record<CredentialKind, string> = {
  api_key: `select ${common}, credential.hint, case when owner.kind = 'person' then owner.role else 'member' end as role,
    credential.admin and owner.kind = 'person' and owner.role = 'admin' as admin, credential.token_ttl_seconds as "tokenTtlSeconds",
    coalesce(credential.replaced_by, '') as "replacedBy", null::timestamptz as "previousSecretEndsAt"
    from api_keys as credential ${joins}`,
  oauth_application: `select ${common}, '' as hint, case when owner.kind = 'person' then owner.role else '' end as role,
    false as admin, null::integer as "tokenTtlSeconds", '' as "replacedBy",
    case when credential.previous_secret_until > now() then credential.previous_secret_until end as "previousSecretEndsAt"
    from oauth_clients as credential ${joins}`,
};

const limitScopes = (row: CredentialDetail, { environment }: Tenant): CredentialDetail => ({
  ...row,
  scopes: cutToRole(row.scopes, { role: row.role, environment }),
});

// By the id alone, which is unique: with the organization the planner may read all credentials of it.
const findOne = (kind: CredentialKind) =>
  `${selects[kind]} where credential.id = $1 and credential.organization_id = $2 and credential.environment = $3`;

/** A credential of the tenant. */
export async function findCredential(sql: Sql, kind: CredentialKind, tenant: Tenant, id: string): Promise<CredentialDetail | undefined> {
  const [row] = await sql<CredentialDetail>(findOne(kind), [id, tenant.organizationId, tenant.environment]);
  return row && limitScopes(row, tenant);
}

/** The newest credentials of the tenant first. One row more than `limit` shows that there is a further page. */
export async function listCredentials(
  sql: Sql,
  kind: CredentialKind,
  tenant: Tenant,
  { userId, status }: CredentialFilter,
  after: Page['after'] | undefined,
  limit: number,
): Promise<CredentialDetail[]> {
  const values: (string | number)[] = [tenant.organizationId, tenant.environment, limit + 1];
  const bound = (value: string | number) => `$${values.push(value)}`;
  const conditions = ['credential.organization_id = $1', 'credential.environment = $2'];
  if (userId !== '') conditions.push(`credential.user_id = ${bound(userId)}`);
  if (status !== '') conditions.push(`(credential.revoked_at is null) = ${status === 'active'}`);
  if (after)
    conditions.push(`(credential.created_at, credential.id) < (${bound(after[0] ?? '')}::timestamptz, ${bound(after[1] ?? '')}::text)`);
  const rows = await sql<CredentialDetail>(
    `${selects[kind]} where ${conditions.join(' and ')} order by credential.created_at desc, credential.id desc limit $3`,
    values,
  );
  return rows.map((row) => limitScopes(row, tenant));
}

/** Reads the counters, so that the cost does not grow with the number of credentials. */
export async function countCredentials(
  sql: Sql,
  kind: CredentialKind,
  tenant: Tenant,
  { userId, status }: CredentialFilter,
): Promise<number> {
  const isActive = status === '' ? null : status === 'active';
  const [row] = await sql<{ total: string }>(countStatement, [tenant.organizationId, tenant.environment, kind, userId, isActive]);
  return Number(row?.total ?? 0);
}

const countStatement = `
  select coalesce(sum(credentials), 0) as total from credential_counts
  where organization_id = $1 and environment = $2 and kind = $3 and user_id = $4 and ($5::boolean is null or is_active = $5)`;

/** The prepared statements of this file; a test prepares each against the migrated schema. */
export const credentialListStatements = {
  findKey: findOne('api_key'),
  findApplication: findOne('oauth_application'),
  countStatement,
};
