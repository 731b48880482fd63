import type { Sql } from '@agent-service/store';
import { laneWidth, narrowLaneWidth, organizationWidth } from '../domain/lanes.ts';
import { type DeliveryKey, type EndpointKey, endpointColumns } from './keys.ts';
import { toTimestamp } from './time.ts';

/** How long a job is believed to be there without asking Redis, which knows it until its dispatcher has done with it or died. */
export const believedMs = 10_000;
/** How long after its time a line is looked at whose alarm did not ring. */
const forgottenMs = 5_000;

export interface Armed extends DeliveryKey {
  /** How often this delivery has been handed out. */
  dispatch: number;
}

export interface ArmedBy extends Armed {
  /** The job that it went by, together with others. */
  job: string;
}

export interface WithJobs extends EndpointKey {
  /** The job for its deliveries while it is well. */
  shared: string;
  /** The job for them while its latest attempts failed. */
  own: string;
}

/**
 * The row of `delivery` at the place that another relation names by `part` and `place`. The condition that always holds has the planner
 * expect few places, and so look each up instead of reading whole partitions, whatever it knows of their size.
 */
export const atPlaceOf = (found: string): string =>
  `delivery.tableoid = ${found}.part and delivery.ctid = ${found}.place and (${found}.part, ${found}.place) is not distinct from (${found}.part, ${found}.place)`;

/**
 * Takes what is due out of the lines of these endpoints, oldest first, for as long as their lanes and their organizations have room.
 * Lanes are counted without a lock: two replicas that do this at the same moment may fill a lane twice, and it empties again. Rows that
 * are locked here are written by their place, since a join by key reads the whole table wherever statistics are missing or old.
 */
const armStatement = `
  with wanted as materialized (
    select * from unnest($1::text[], $2::text[], $3::text[], $6::text[], $7::text[]) as wanted (organization_id, environment, id, shared, own)
  ), lanes as materialized (
    select endpoint.*, (
      select count(*)::integer from deliveries as delivery
      where delivery.organization_id = endpoint.organization_id and delivery.environment = endpoint.environment
        and delivery.endpoint_id = endpoint.id and delivery.state = 'armed' and delivery.ended_at is null) as armed
    from (select distinct organization_id from wanted) as organization
    cross join lateral (
      select organization_id, environment, id, active, first_failure_at, coalesce(void_before, '-infinity') as void_before from endpoints
      where organization_id = organization.organization_id and deleted_at is null offset 0) as endpoint
  ), organizations as (
    select lanes.organization_id, (${organizationWidth} - sum(lanes.armed)) / nullif(count(wanted.id), 0) as share
    from lanes left join wanted using (organization_id, environment, id) group by 1
  ), open as materialized (
    select lanes.*, case when lanes.first_failure_at is null then wanted.shared else wanted.own end as job,
      greatest(least(organizations.share, case when lanes.first_failure_at is null then ${laneWidth} else ${narrowLaneWidth} end - lanes.armed),
        case when lanes.armed = 0 then 1 else 0 end) as room
    from wanted join lanes using (organization_id, environment, id) join organizations using (organization_id)
    where lanes.active
  ), line as materialized (
    select found.part, found.place, open.job from open cross join lateral (
      select delivery.tableoid as part, delivery.ctid as place from deliveries as delivery
      where delivery.organization_id = open.organization_id and delivery.environment = open.environment
        and delivery.endpoint_id = open.id and delivery.state = 'waiting' and delivery.ended_at is null and delivery.due_at <= $4
        and delivery.created_at > open.void_before
      order by delivery.due_at limit greatest(open.room, 0) for update skip locked) as found
  )
  update deliveries as delivery set state = 'armed', dispatch = delivery.dispatch + 1, look_at = $5, job = line.job from line
  where ${atPlaceOf('line')}
  returning delivery.organization_id as "organizationId", delivery.environment, delivery.id as "deliveryId", delivery.dispatch, delivery.job`;

export function armLines(sql: Sql, endpoints: readonly WithJobs[], now: number): Promise<ArmedBy[]> {
  return sql<ArmedBy>(armStatement, [
    ...endpointColumns(endpoints),
    toTimestamp(now),
    toTimestamp(now + believedMs),
    endpoints.map(({ shared }) => shared),
    endpoints.map(({ own }) => own),
  ]);
}

/** Has the lines of these endpoints looked after from then on. */
export async function wakeLines(sql: Sql, endpoints: readonly EndpointKey[], at: number): Promise<void> {
  if (endpoints.length === 0) return;
  await sql(
    `with locked as (
       select endpoint.organization_id, endpoint.environment, endpoint.id
       from unnest($1::text[], $2::text[], $3::text[]) as wanted (organization_id, environment, id)
       join endpoints as endpoint using (organization_id, environment, id) order by 1, 2, 3 for no key update of endpoint
     )
     update endpoints as endpoint set look_at = least(endpoint.look_at, $4) from locked
     where endpoint.organization_id = locked.organization_id and endpoint.environment = locked.environment and endpoint.id = locked.id`,
    [...endpointColumns(endpoints), toTimestamp(at)],
  );
}

/**
 * Endpoints whose lines want a look, a bounded number; the next look is set to when the first of a line is due. In two
 * statements, because the second must see what was added before the first had its locks.
 */
export async function takeLinesToLookAt(sql: Sql, now: number, limit: number): Promise<EndpointKey[]> {
  const endpoints = await sql<EndpointKey>(
    `select organization_id as "organizationId", environment, id as "endpointId" from endpoints where look_at <= $1
     order by look_at limit $2 for no key update skip locked`,
    [toTimestamp(now), limit],
  );
  if (endpoints.length === 0) return [];
  await sql(
    `update endpoints as endpoint set look_at = (
       select greatest(min(delivery.due_at), $4) + interval '${forgottenMs} milliseconds' from deliveries as delivery
       where delivery.organization_id = endpoint.organization_id and delivery.environment = endpoint.environment
         and delivery.endpoint_id = endpoint.id and delivery.state = 'waiting' and delivery.ended_at is null)
     from unnest($1::text[], $2::text[], $3::text[]) as wanted (organization_id, environment, id)
     where endpoint.organization_id = wanted.organization_id and endpoint.environment = wanted.environment and endpoint.id = wanted.id`,
    [...endpointColumns(endpoints), toTimestamp(now)],
  );
  return endpoints;
}
