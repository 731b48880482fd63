import type { Sql } from '@agent-service/store';
import { distinctEndpoints, type EndpointKey, endpointColumns } from './keys.ts';
import { type ArmedBy, atPlaceOf, believedMs } from './line.ts';
import { toTimestamp } from './time.ts';

export interface ArmedRow extends ArmedBy, EndpointKey {}

/** A bounded number whose jobs have not been taken up for a while; they are believed in for another while. */
export function takeDoubtful(sql: Sql, now: number, limit: number): Promise<ArmedRow[]> {
  return sql<ArmedRow>(
    `with doubtful as materialized (
       select tableoid as part, ctid as place from deliveries where look_at <= $1 order by look_at limit $3 for update skip locked)
     update deliveries as delivery set look_at = $2 from doubtful
     where ${atPlaceOf('doubtful')}
     returning delivery.organization_id as "organizationId", delivery.environment, delivery.endpoint_id as "endpointId",
       delivery.id as "deliveryId", delivery.dispatch, delivery.job`,
    [toTimestamp(now), toTimestamp(now + believedMs), limit],
  );
}

/** Puts those back into their lines whose jobs are lost, unless they have been taken up or armed again meanwhile. */
export async function disarm(sql: Sql, lost: readonly ArmedRow[]): Promise<EndpointKey[]> {
  if (lost.length === 0) return [];
  const rows = await sql<EndpointKey>(
    `update deliveries as delivery set state = 'waiting', look_at = null
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::integer[]) as lost (organization_id, environment, endpoint_id, id, dispatch)
     where delivery.organization_id = lost.organization_id and delivery.environment = lost.environment and delivery.id = lost.id
       and delivery.state = 'armed' and delivery.dispatch = lost.dispatch
     returning delivery.organization_id as "organizationId", delivery.environment, delivery.endpoint_id as "endpointId"`,
    [...endpointColumns(lost), lost.map(({ deliveryId }) => deliveryId), lost.map(({ dispatch }) => dispatch)],
  );
  return distinctEndpoints(rows);
}
