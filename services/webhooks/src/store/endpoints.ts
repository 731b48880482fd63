import type { Page, Sql } from '@agent-service/store';
import { type Health, type HealthStatus, healthy } from '../domain/health.ts';
import type { Tenant } from '../domain/tenant.ts';
import { toMsOrNull, toTimestamp } from './time.ts';

export interface EndpointRow {
  id: string;
  url: string;
  events: string[];
  description: string;
  active: boolean;
  status: HealthStatus;
  failingSince: string | null;
  lastDeliveryAt: string | null;
  createdAt: string;
  updatedAt: string;
}

const columns = `id, url, events, description, active, status, failing_since as "failingSince", last_delivery_at as "lastDeliveryAt",
  created_at as "createdAt", updated_at as "updatedAt"`;

export interface NewEndpoint extends Tenant {
  id: string;
  url: string;
  events: readonly string[];
  description: string;
  active: boolean;
  sealedSecret: string;
  at: number;
}

/** Holds off whoever else would add an endpoint to this tenant, and answers how many there are. */
export async function lockAndCountEndpoints(sql: Sql, { organizationId, environment }: Tenant): Promise<number> {
  await sql(`select pg_advisory_xact_lock(hashtextextended($1, 0))`, [`endpoints ${organizationId} ${environment}`]);
  return await countEndpoints(sql, { organizationId, environment });
}

/** A tenant has so few that counting them costs nothing. */
export async function countEndpoints(sql: Sql, { organizationId, environment }: Tenant): Promise<number> {
  const [row] = await sql<{ total: string }>(
    'select count(*) as total from endpoints where organization_id = $1 and environment = $2 and deleted_at is null',
    [organizationId, environment],
  );
  return Number(row?.total);
}

export async function addEndpoint(sql: Sql, endpoint: NewEndpoint): Promise<EndpointRow> {
  const { organizationId, environment, id, url, events, description, active, sealedSecret, at } = endpoint;
  const [row] = await sql<EndpointRow>(
    `insert into endpoints (organization_id, environment, id, url, events, description, active, secret, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) returning ${columns}`,
    [organizationId, environment, id, url, events, description, active, sealedSecret, toTimestamp(at)],
  );
  return row as EndpointRow;
}

/** Newest first; one row more than asked for tells that there is a further page. */
export function listEndpoints(
  sql: Sql,
  { organizationId, environment }: Tenant,
  after: Page['after'] | undefined,
  limit: number,
): Promise<EndpointRow[]> {
  const seek = after ? 'and (created_at, id) < ($4::timestamptz, $5)' : '';
  return sql<EndpointRow>(
    `select ${columns} from endpoints where organization_id = $1 and environment = $2 and deleted_at is null ${seek}
     order by created_at desc, id desc limit $3`,
    [organizationId, environment, limit + 1, ...(after ?? [])],
  );
}

export interface LockedEndpoint extends EndpointRow {
  sealedSecret: string;
}

export async function lockEndpoint(sql: Sql, { organizationId, environment }: Tenant, id: string): Promise<LockedEndpoint | undefined> {
  const [row] = await sql<LockedEndpoint>(
    `select ${columns}, secret as "sealedSecret" from endpoints
     where organization_id = $1 and environment = $2 and id = $3 and deleted_at is null for update`,
    [organizationId, environment, id],
  );
  return row;
}

export interface EndpointChanges {
  url: string;
  events: readonly string[];
  description: string;
  active: boolean;
}

/**
 * Writes what a person may change. Health starts afresh where `reset` says so; who turns inactive loses what is pending, and
 * once that is done and it is active again, nothing is too old for it, by whichever replica's clock.
 */
export async function saveEndpoint(
  sql: Sql,
  { organizationId, environment }: Tenant,
  id: string,
  { url, events, description, active }: EndpointChanges,
  { reset, voids, at }: { reset: boolean; voids: boolean; at: number },
): Promise<EndpointRow> {
  const [row] = await sql<EndpointRow>(
    `update endpoints set url = $4, events = $5, description = $6, active = $7, updated_at = $8,
       status = case when $9 then '${healthy.status}' else status end,
       failing_since = case when $9 then null else failing_since end,
       first_failure_at = case when $9 then null else first_failure_at end,
       failed_events = case when $9 then 0 else failed_events end,
       void_before = case when $10 then $8::timestamptz when $9 and not voiding then null else void_before end,
       voiding = voiding or $10
     where organization_id = $1 and environment = $2 and id = $3 returning ${columns}`,
    [organizationId, environment, id, url, events, description, active, toTimestamp(at), reset, voids],
  );
  return row as EndpointRow;
}

/** Gone for everybody at once; what it leaves behind is removed in steps. */
export async function deleteEndpoint(sql: Sql, { organizationId, environment }: Tenant, id: string, at: number): Promise<boolean> {
  const rows = await sql(
    `update endpoints set deleted_at = $4, active = false, void_before = $4, voiding = true, secret = '', previous_secret = null, look_at = null
     where organization_id = $1 and environment = $2 and id = $3 and deleted_at is null returning 1`,
    [organizationId, environment, id, toTimestamp(at)],
  );
  return rows.length > 0;
}

export async function saveSecret(
  sql: Sql,
  { organizationId, environment }: Tenant,
  id: string,
  { sealed, previous, previousUntil, at }: { sealed: string; previous: string; previousUntil: number; at: number },
): Promise<EndpointRow> {
  const [row] = await sql<EndpointRow>(
    `update endpoints set secret = $4, previous_secret = $5, previous_secret_until = $6, updated_at = $7
     where organization_id = $1 and environment = $2 and id = $3 returning ${columns}`,
    [organizationId, environment, id, sealed, previous, toTimestamp(previousUntil), toTimestamp(at)],
  );
  return row as EndpointRow;
}

export interface HealthColumns {
  status: HealthStatus;
  failing_since: string | null;
  first_failure_at: string | null;
  failed_events: number;
}

export const toHealth = (row: HealthColumns): Health => ({
  status: row.status,
  failingSince: toMsOrNull(row.failing_since),
  firstFailureAt: toMsOrNull(row.first_failure_at),
  failedEvents: row.failed_events,
});
