import type { Sql } from '@agent-service/store';
import type { Outcome } from '../domain/outcome.ts';
import { attemptOf } from './end.ts';
import { distinctEndpoints, type EndpointKey, endpointColumns } from './keys.ts';
import { type Armed, atPlaceOf } from './line.ts';
import { toMs, toTimestamp } from './time.ts';

/** How far behind an endpoint's last_delivery_at may be, so that a busy one is not written with every delivery. */
const behindMs = 1_000;

type Answered = Extract<Outcome, { kind: 'answered' }>;

export interface DeliveredJob extends Armed {
  /** Names it within the batch. */
  position: number;
  outcome: Answered;
}

export interface Delivered extends EndpointKey {
  position: number;
  lastDeliveryAt: string | null;
}

/**
 * Ends deliveries that succeeded at endpoints whose last one did as well: nothing follows for those, so they are neither locked
 * nor written. Answers with what was ended; a failure that comes at the same moment counts as having come after.
 */
export function saveDelivered(sql: Sql, jobs: readonly DeliveredJob[], now: number): Promise<Delivered[]> {
  return sql<Delivered>(
    `update deliveries as delivery set state = 'delivered', look_at = null, dispatch = delivery.dispatch + 1,
       attempts_made = delivery.attempts_made + 1, attempts = delivery.attempts || item.attempt, ended_at = $2,
       response_status = item.response_status, response_body = item.response_body
     from jsonb_to_recordset($1::jsonb) as item (position integer, organization_id text, environment text, id text, dispatch integer,
       attempt jsonb, response_status integer, response_body text)
     cross join lateral (
       select tableoid as part, ctid as place, endpoint_id from deliveries
       where organization_id = item.organization_id and environment = item.environment and id = item.id
         and state = 'armed' and dispatch = item.dispatch offset 0) as found
     cross join lateral (
       select last_delivery_at from endpoints
       where organization_id = item.organization_id and environment = item.environment and id = found.endpoint_id
         and status = 'healthy' and first_failure_at is null offset 0) as endpoint
     where ${atPlaceOf('found')}
     returning item.position, delivery.organization_id as "organizationId", delivery.environment, delivery.endpoint_id as "endpointId",
       endpoint.last_delivery_at as "lastDeliveryAt"`,
    [JSON.stringify(jobs.map((job) => recordOf(job, now))), toTimestamp(now)],
  );
}

const recordOf = ({ position, organizationId, environment, deliveryId, dispatch, outcome }: DeliveredJob, now: number) => ({
  position,
  organization_id: organizationId,
  environment,
  id: deliveryId,
  dispatch,
  attempt: [attemptOf(outcome, now)],
  response_status: outcome.status,
  response_body: outcome.body,
});

/** Notes when these were delivered to, where that is not known to within a second. One that is locked is noted with a later delivery. */
export async function touchEndpoints(sql: Sql, delivered: readonly Delivered[], now: number): Promise<void> {
  const isStale = ({ lastDeliveryAt }: Delivered) => lastDeliveryAt === null || toMs(lastDeliveryAt) < now - behindMs;
  const stale = distinctEndpoints(delivered.filter(isStale));
  if (stale.length === 0) return;
  await sql(
    `with locked as (
       select endpoint.organization_id, endpoint.environment, endpoint.id
       from unnest($1::text[], $2::text[], $3::text[]) as wanted (organization_id, environment, id)
       join endpoints as endpoint using (organization_id, environment, id) order by 1, 2, 3 for no key update of endpoint skip locked
     )
     update endpoints as endpoint set last_delivery_at = greatest(endpoint.last_delivery_at, $4) from locked
     where endpoint.organization_id = locked.organization_id and endpoint.environment = locked.environment and endpoint.id = locked.id`,
    [...endpointColumns(stale), toTimestamp(now)],
  );
}
