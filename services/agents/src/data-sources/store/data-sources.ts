import type { Sql } from '@agent-service/store';
import type { Tenant } from '../../shared/tenant.ts';

/** A tenant's connected database; its URL is sealed. One that was removed is kept without it, so that versions only go up. */
export interface DataSourceRow {
  organizationId: string;
  environment: 'live' | 'test';
  urlSealed: string;
  version: number;
  createdAt: string;
  updatedAt: string;
}

const columns = `organization_id as "organizationId", environment, url_sealed as "urlSealed", version,
  created_at as "createdAt", updated_at as "updatedAt"`;

const connected = 'organization_id = $1 and url_sealed is not null';

export async function saveDataSource(
  sql: Sql,
  { organizationId, environment }: Tenant,
  urlSealed: string,
  at: number,
): Promise<DataSourceRow> {
  const [row] = await sql<DataSourceRow>(
    `insert into data_sources (organization_id, environment, url_sealed, version, created_at, updated_at)
     values ($1, $2, $3, 1, $4, $4)
     on conflict (organization_id, environment)
       do update set url_sealed = excluded.url_sealed, version = data_sources.version + 1, updated_at = excluded.updated_at,
         created_at = case when data_sources.url_sealed is null then excluded.created_at else data_sources.created_at end
     returning ${columns}`,
    [organizationId, environment, urlSealed, new Date(at)],
  );
  return row as DataSourceRow;
}

export async function findDataSource(sql: Sql, { organizationId, environment }: Tenant): Promise<DataSourceRow | undefined> {
  const [row] = await sql<DataSourceRow>(`select ${columns} from data_sources where ${connected} and environment = $2`, [
    organizationId,
    environment,
  ]);
  return row;
}

/** Those of an organization; an empty environment names both. */
export const listDataSources = (sql: Sql, organizationId: string, environment: string): Promise<DataSourceRow[]> =>
  sql<DataSourceRow>(`select ${columns} from data_sources where ${connected} and ($2 = '' or environment = $2) order by environment`, [
    organizationId,
    environment,
  ]);

/** Whether there was one. */
export async function removeDataSource(sql: Sql, { organizationId, environment }: Tenant, at: number): Promise<boolean> {
  const rows = await sql(
    `update data_sources set url_sealed = null, version = version + 1, updated_at = $3 where ${connected} and environment = $2 returning 1`,
    [organizationId, environment, new Date(at)],
  );
  return rows.length > 0;
}
