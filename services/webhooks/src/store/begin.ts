import type { Sql } from '@agent-service/store';
import type { EndpointKey } from './keys.ts';
import type { Armed } from './line.ts';
import { toTimestamp } from './time.ts';

export interface BegunRow {
  position: number;
  endpointId: string;
  url: string;
  eventId: string;
  body: string;
  secret: string;
  previousSecret: string | null;
  previousSecretUntil: string | null;
  receivedAt: string;
  attemptsMade: number;
}

/** Jobs as the records that statements join with. */
export const asRecords = (jobs: readonly Armed[]) =>
  JSON.stringify(
    jobs.map(({ organizationId, environment, deliveryId, dispatch }, position) => ({
      position,
      organization_id: organizationId,
      environment,
      id: deliveryId,
      dispatch,
    })),
  );

export const jobRecords =
  'jsonb_to_recordset($1::jsonb) as job (position integer, organization_id text, environment text, id text, dispatch integer)';

/**
 * What is to be sent for the jobs that still are their deliveries' own. Each is looked up by itself (`offset 0` keeps the
 * planner from joining in another order): without statistics it reads whole tenants.
 */
export function findBegun(sql: Sql, jobs: readonly Armed[]): Promise<BegunRow[]> {
  return sql<BegunRow>(
    `select job.position, delivery.endpoint_id as "endpointId", endpoint.url, delivery.event_id as "eventId", event.body, endpoint.secret,
       endpoint.previous_secret as "previousSecret", endpoint.previous_secret_until as "previousSecretUntil",
       event.received_at as "receivedAt", delivery.attempts_made as "attemptsMade"
     from ${jobRecords}
     cross join lateral (
       select endpoint_id, event_id, attempts_made, created_at from deliveries
       where organization_id = job.organization_id and environment = job.environment and id = job.id
         and state = 'armed' and dispatch = job.dispatch offset 0) as delivery
     cross join lateral (
       select url, secret, previous_secret, previous_secret_until from endpoints
       where organization_id = job.organization_id and environment = job.environment and id = delivery.endpoint_id
         and active and deleted_at is null and delivery.created_at > coalesce(void_before, '-infinity') offset 0) as endpoint
     cross join lateral (
       select body, received_at from events
       where organization_id = job.organization_id and environment = job.environment and id = delivery.event_id offset 0) as event`,
    [asRecords(jobs)],
  );
}

/** The endpoints in whose lines these still stand although they are due: what rang was their alarm clock. */
export function linesOf(sql: Sql, jobs: readonly Armed[], now: number): Promise<EndpointKey[]> {
  return sql<EndpointKey>(
    `select distinct job.organization_id as "organizationId", job.environment, delivery.endpoint_id as "endpointId"
     from ${jobRecords}
     cross join lateral (
       select endpoint_id from deliveries
       where organization_id = job.organization_id and environment = job.environment and id = job.id
         and state = 'waiting' and due_at <= $2 offset 0) as delivery`,
    [asRecords(jobs), toTimestamp(now)],
  );
}
