import type { Sql } from '@agent-service/store';
import type { DeliveryEnd, DeliveryInHand } from '../domain/ended-attempt.ts';
import type { Health } from '../domain/health.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { Tenant } from '../domain/tenant.ts';
import { asRecords, jobRecords } from './begin.ts';
import { type HealthColumns, toHealth } from './endpoints.ts';
import type { EndpointKey } from './keys.ts';
import { type Armed, atPlaceOf } from './line.ts';
import { toMsOrNull, toTimestamp } from './time.ts';

export interface InHand extends EndpointKey, DeliveryInHand {
  deliveryId: string;
  position: number;
  /** Whether a further attempt would still be wanted. */
  wanted: boolean;
  url: string;
  health: Health;
}

interface InHandRow extends HealthColumns, Tenant {
  endpoint_id: string;
  id: string;
  position: number;
  url: string;
  wanted: boolean;
  attempts_made: number;
  last_failure_at: string | null;
  test: boolean;
}

/** The deliveries whose own these jobs still are, locked together with their endpoints, which everybody locks in the same order. */
export async function lockInHand(sql: Sql, jobs: readonly Armed[]): Promise<InHand[]> {
  const rows = await sql<InHandRow>(
    `with found as materialized (
       select job.position, job.organization_id, job.environment, job.id, job.dispatch, delivery.endpoint_id from ${jobRecords}
       cross join lateral (
         select endpoint_id from deliveries
         where organization_id = job.organization_id and environment = job.environment and id = job.id
           and state = 'armed' and dispatch = job.dispatch offset 0) as delivery
       order by job.organization_id, job.environment, delivery.endpoint_id, job.id
     )
     select found.organization_id as "organizationId", found.environment, found.endpoint_id, found.id, found.position, endpoint.url,
       endpoint.active and endpoint.deleted_at is null and delivery.created_at > coalesce(endpoint.void_before, '-infinity') as wanted,
       delivery.attempts_made, delivery.last_failure_at, delivery.test,
       endpoint.status, endpoint.failing_since, endpoint.first_failure_at, endpoint.failed_events
     from found
     cross join lateral (
       select * from endpoints
       where organization_id = found.organization_id and environment = found.environment and id = found.endpoint_id
       for no key update) as endpoint
     cross join lateral (
       select * from deliveries
       where organization_id = found.organization_id and environment = found.environment and id = found.id
         and state = 'armed' and dispatch = found.dispatch for no key update) as delivery`,
    [asRecords(jobs)],
  );
  return rows.map((row) => ({
    organizationId: row.organizationId,
    environment: row.environment,
    endpointId: row.endpoint_id,
    deliveryId: row.id,
    position: row.position,
    url: row.url,
    wanted: row.wanted,
    attemptsMade: row.attempts_made,
    lastFailureAt: toMsOrNull(row.last_failure_at),
    test: row.test,
    health: toHealth(row),
  }));
}

export interface EndedDelivery extends Tenant {
  deliveryId: string;
  end: DeliveryEnd;
  outcome: Outcome;
}

/** Writes how attempts ended; answers with the job number of each that is tried again. */
export async function saveEnded(sql: Sql, ended: readonly EndedDelivery[], now: number): Promise<Map<string, number>> {
  const rows = await sql<{ id: string; dispatch: number }>(
    `update deliveries as delivery set state = item.state, due_at = coalesce(item.due_at, delivery.due_at), look_at = null,
       dispatch = delivery.dispatch + 1, attempts_made = item.attempts_made, last_failure_at = item.last_failure_at,
       attempts = delivery.attempts || coalesce(item.attempt, '[]'), ended_at = case when item.state = 'waiting' then null else $2::timestamptz end,
       response_status = coalesce(item.response_status, delivery.response_status),
       response_body = coalesce(item.response_body, delivery.response_body)
     from jsonb_to_recordset($1::jsonb) as item (organization_id text, environment text, id text, state text, due_at timestamptz,
       attempts_made integer, last_failure_at timestamptz, attempt jsonb, response_status integer, response_body text)
     cross join lateral (
       select tableoid as part, ctid as place from deliveries
       where organization_id = item.organization_id and environment = item.environment and id = item.id offset 0) as locked
     where ${atPlaceOf('locked')}
     returning delivery.id, delivery.dispatch`,
    [JSON.stringify(ended.map((each) => recordOf(each, now))), toTimestamp(now)],
  );
  return new Map(rows.map(({ id, dispatch }) => [id, dispatch]));
}

function recordOf({ organizationId, environment, deliveryId, end, outcome }: EndedDelivery, now: number) {
  return {
    organization_id: organizationId,
    environment,
    id: deliveryId,
    state: end.state,
    due_at: end.state === 'waiting' ? toTimestamp(end.dueAt) : null,
    attempts_made: end.attemptsMade,
    last_failure_at: end.failedAt === null ? null : toTimestamp(end.failedAt),
    attempt: outcome.kind === 'returned' ? null : [attemptOf(outcome, now)],
    response_status: outcome.kind === 'answered' ? outcome.status : null,
    response_body: outcome.kind === 'answered' ? outcome.body : null,
  };
}

/** One line of a delivery's history. */
export interface AttemptRecord {
  at: string;
  status: number;
  error: string;
  duration_ms: number;
}

export const attemptOf = (outcome: Exclude<Outcome, { kind: 'returned' }>, now: number): AttemptRecord => ({
  at: toTimestamp(now - outcome.durationMs),
  status: outcome.kind === 'answered' ? outcome.status : 0,
  error: outcome.kind === 'answered' ? '' : outcome.reason,
  duration_ms: outcome.durationMs,
});

export interface EndpointAfter extends EndpointKey {
  health: Health;
  /** An attempt was made, whatever its outcome. */
  attempted: boolean;
  /** When the first of those that wait again is due. */
  lookAt: number | null;
}

/** Writes what the attempts mean for their endpoints. One that was disabled loses what is pending. */
export async function saveEndpoints(sql: Sql, endpoints: readonly EndpointAfter[], now: number): Promise<void> {
  const items = endpoints.map(({ organizationId, environment, endpointId, health, attempted, lookAt }) => ({
    organization_id: organizationId,
    environment,
    id: endpointId,
    status: health.status,
    failing_since: health.failingSince === null ? null : toTimestamp(health.failingSince),
    first_failure_at: health.firstFailureAt === null ? null : toTimestamp(health.firstFailureAt),
    failed_events: health.failedEvents,
    attempted,
    look_at: lookAt === null ? null : toTimestamp(lookAt),
  }));
  await sql(
    `update endpoints as endpoint set status = item.status, failing_since = item.failing_since, first_failure_at = item.first_failure_at,
       failed_events = item.failed_events, last_delivery_at = case when item.attempted then $2 else endpoint.last_delivery_at end,
       look_at = least(endpoint.look_at, item.look_at),
       active = endpoint.active and item.status <> 'disabled',
       void_before = case when endpoint.active and item.status = 'disabled' then $2 else endpoint.void_before end,
       voiding = endpoint.voiding or (endpoint.active and item.status = 'disabled')
     from jsonb_to_recordset($1::jsonb) as item (organization_id text, environment text, id text, status text, failing_since timestamptz,
       first_failure_at timestamptz, failed_events integer, attempted boolean, look_at timestamptz)
     where endpoint.organization_id = item.organization_id and endpoint.environment = item.environment and endpoint.id = item.id`,
    [JSON.stringify(items), toTimestamp(now)],
  );
}
