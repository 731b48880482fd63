import type { Sql } from '@agent-service/store';
import { type EndpointKey, endpointColumns } from './keys.ts';
import { toTimestamp } from './time.ts';

const day = 24 * 3_600_000;
export const deliveriesKeptMs = 30 * day;
/** A delivery of the last day may still be tried for as long as the schedule and five Retry-After headers can take. */
const eventsKeptMs = deliveriesKeptMs + 7 * day;

/** Each removes a bounded number of what has outlived its time and answers with how many. */
export async function removeOldDeliveries(sql: Sql, now: number, limit: number): Promise<number> {
  const removed = await sql<EndpointKey>(
    `delete from deliveries where ctid = any(array(
       select ctid from deliveries where created_at < $1 limit $2 for update skip locked))
     returning organization_id as "organizationId", environment, endpoint_id as "endpointId"`,
    [toTimestamp(now - deliveriesKeptMs), limit],
  );
  if (removed.length > 0) await discount(sql, removed);
  return removed.length;
}

async function discount(sql: Sql, removed: readonly EndpointKey[]): Promise<void> {
  await sql(
    `with gone as (
       select organization_id, environment, id, count(*) as deliveries
       from unnest($1::text[], $2::text[], $3::text[]) as removed (organization_id, environment, id) group by 1, 2, 3
     ), locked as (
       select endpoint.organization_id, endpoint.environment, endpoint.id, gone.deliveries
       from gone join endpoints as endpoint using (organization_id, environment, id) order by 1, 2, 3 for no key update of endpoint
     )
     update endpoints as endpoint set deliveries = endpoint.deliveries - locked.deliveries from locked
     where endpoint.organization_id = locked.organization_id and endpoint.environment = locked.environment and endpoint.id = locked.id`,
    endpointColumns(removed),
  );
}

export async function removeOldEvents(sql: Sql, now: number, limit: number): Promise<number> {
  const removed = await sql(
    `delete from events where ctid = any(array(
       select ctid from events where received_at < $1 limit $2 for update skip locked))
     returning 1`,
    [toTimestamp(now - eventsKeptMs), limit],
  );
  return removed.length;
}

/** Deleted endpoints whose last delivery is gone. */
export async function removeDeletedEndpoints(sql: Sql, now: number, limit: number): Promise<number> {
  const removed = await sql(
    `delete from endpoints where (organization_id, environment, id) in (
       select organization_id, environment, id from endpoints where deleted_at < $1 limit $2 for update skip locked)
     returning 1`,
    [toTimestamp(now - deliveriesKeptMs - day), limit],
  );
  return removed.length;
}
