import type { Tenant } from '@agent-service/contracts';
import { isoTime, type Sql } from '@agent-service/store';
import type { DeliveryEnd, InFlightDelivery, Outcome } from '../domain/attempts.ts';
import type { Health, HealthStatus } from '../domain/health.ts';
import { atRowOf, type DispatchedKey, distinctWebhooks, inLockOrder, toMs, toMsOrNull, type WebhookKey, webhookColumns } from './queue.ts';

export interface AttemptRow {
  position: number;
  webhookId: string;
  url: string;
  eventId: string;
  eventType: string;
  body: string;
  secret: string;
  previousSecret: string | null;
  previousSecretUntil: string | null;
  createdAt: string;
  attemptsMade: number;
}

/** The parameter of `jobRecordset`. */
const toRecordset = (jobs: readonly DispatchedKey[]) =>
  JSON.stringify(
    jobs.map(({ organizationId, environment, deliveryId, dispatch }, position) => ({
      position,
      organization_id: organizationId,
      environment,
      id: deliveryId,
      dispatch,
    })),
  );

const jobRecordset =
  'jsonb_to_recordset($1::jsonb) as job (position integer, organization_id text, environment text, id text, dispatch integer)';

const findAttemptsStatement = `
  select job.position, delivery.endpoint_id as "webhookId", endpoint.url, delivery.event_id as "eventId", event.type as "eventType", event.body,
    endpoint.secret, endpoint.previous_secret as "previousSecret", endpoint.previous_secret_until as "previousSecretUntil",
    delivery.created_at as "createdAt", delivery.attempts_made as "attemptsMade"
  from ${jobRecordset}
  cross join lateral (
    select endpoint_id, event_id, attempts_made, created_at from deliveries
    where organization_id = job.organization_id and environment = job.environment and id = job.id
      and state = 'armed' and dispatch = job.dispatch offset 0) as delivery
  cross join lateral (
    select url, secret, previous_secret, previous_secret_until from endpoints
    where organization_id = job.organization_id and environment = job.environment and id = delivery.endpoint_id
      and active and deleted_at is null and delivery.created_at > coalesce(void_before, '-infinity') offset 0) as endpoint
  cross join lateral (
    select type, body from events
    where organization_id = job.organization_id and environment = job.environment and id = delivery.event_id offset 0) as event`;

/**
 * The attempts of the jobs whose dispatch is still valid. Each is looked up alone: `offset 0` keeps the planner from joining in another order, in
 * which it reads whole tenants where statistics are missing.
 */
export function findAttempts(sql: Sql, jobs: readonly DispatchedKey[]): Promise<AttemptRow[]> {
  return sql<AttemptRow>(findAttemptsStatement, [toRecordset(jobs)]);
}

const dropWithoutEventStatement = `
  with orphaned as materialized (
    select delivery.part, delivery.place from ${jobRecordset}
    cross join lateral (
      select tableoid as part, ctid as place from deliveries
      where organization_id = job.organization_id and environment = job.environment and id = job.id
        and state = 'armed' and dispatch = job.dispatch and not exists (
          select from events
          where organization_id = job.organization_id and environment = job.environment and id = deliveries.event_id offset 0)
      for update skip locked) as delivery
  )
  update deliveries as delivery set state = 'dropped', ended_at = $2, look_at = null, dispatch = delivery.dispatch + 1 from orphaned
  where ${atRowOf('orphaned')}
  returning delivery.organization_id as "organizationId", delivery.environment, delivery.endpoint_id as "webhookId"`;

/**
 * Ends the deliveries whose event is gone: its month was dropped while they waited. As the oldest of their webhook they would otherwise be
 * dispatched again and again, before all others. Resolves to the webhook of each.
 */
export function dropWithoutEvent(sql: Sql, jobs: readonly DispatchedKey[], now: number): Promise<WebhookKey[]> {
  return sql<WebhookKey>(dropWithoutEventStatement, [toRecordset(jobs), isoTime(now)]);
}

/** How late last_delivery_at may be, so that a busy webhook is not written with every delivery. */
const deliveryTimeLagMs = 1_000;

type Answered = Extract<Outcome, { kind: 'answered' }>;

export interface DeliveredJob extends DispatchedKey {
  /** Identifies it within the batch. */
  position: number;
  outcome: Answered;
}

export interface Delivered extends WebhookKey {
  position: number;
  lastDeliveryAt: string | null;
}

const saveDeliveredStatement = `
  update deliveries as delivery set state = 'delivered', look_at = null, dispatch = delivery.dispatch + 1,
    attempts_made = delivery.attempts_made + 1, attempts = delivery.attempts || item.attempt, ended_at = $2,
    response_status = item.response_status, response_body = item.response_body
  from jsonb_to_recordset($1::jsonb) as item (position integer, organization_id text, environment text, id text, dispatch integer,
    attempt jsonb, response_status integer, response_body text)
  cross join lateral (
    select tableoid as part, ctid as place, endpoint_id from deliveries
    where organization_id = item.organization_id and environment = item.environment and id = item.id
      and state = 'armed' and dispatch = item.dispatch offset 0) as sent
  cross join lateral (
    select last_delivery_at from endpoints
    where organization_id = item.organization_id and environment = item.environment and id = sent.endpoint_id
      and status = 'healthy' and first_failure_at is null offset 0) as endpoint
  where ${atRowOf('sent')}
  returning item.position, delivery.organization_id as "organizationId", delivery.environment, delivery.endpoint_id as "webhookId",
    endpoint.last_delivery_at as "lastDeliveryAt"`;

/**
 * Ends deliveries that succeeded at webhooks whose last delivery succeeded as well. Such webhooks do not change, so they are neither locked nor
 * written. Resolves to the ended deliveries; a failure at the same moment counts as later.
 */
export function saveDelivered(sql: Sql, jobs: readonly DeliveredJob[], now: number): Promise<Delivered[]> {
  return sql<Delivered>(saveDeliveredStatement, [JSON.stringify(inLockOrder(jobs).map((job) => recordOf(job, now))), isoTime(now)]);
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

const recordDeliveryTimesStatement = `
  with locked as (
    select endpoint.organization_id, endpoint.environment, endpoint.id
    from unnest($1::text[], $2::text[], $3::text[]) as requested (organization_id, environment, id)
    join endpoints as endpoint using (organization_id, environment, id) order by 1, 2, 3 for no key update of endpoint skip locked
  )
  update endpoints as endpoint set last_delivery_at = greatest(endpoint.last_delivery_at, $4) from locked
  where endpoint.organization_id = locked.organization_id and endpoint.environment = locked.environment and endpoint.id = locked.id`;

/** Records the time of the last delivery where the recorded one is more than a second old. A locked webhook is left to a later delivery. */
export async function recordDeliveryTimes(sql: Sql, delivered: readonly Delivered[], now: number): Promise<void> {
  const isStale = ({ lastDeliveryAt }: Delivered) => lastDeliveryAt === null || toMs(lastDeliveryAt) < now - deliveryTimeLagMs;
  const stale = distinctWebhooks(delivered.filter(isStale));
  if (stale.length === 0) return;
  await sql(recordDeliveryTimesStatement, [...webhookColumns(stale), isoTime(now)]);
}

export interface InFlightRow extends WebhookKey, InFlightDelivery {
  deliveryId: string;
  position: number;
  /** The webhook's present one. */
  url: string;
  health: Health;
}

interface InFlightColumns extends HealthColumns, Tenant {
  endpoint_id: string;
  id: string;
  position: number;
  url: string;
  is_expected: boolean;
  attempts_made: number;
  last_failure_at: string | null;
  test: boolean;
}

const lockInFlightStatement = `
  with found as materialized (
    select job.position, job.organization_id, job.environment, job.id, job.dispatch, delivery.endpoint_id from ${jobRecordset}
    cross join lateral (
      select endpoint_id from deliveries
      where organization_id = job.organization_id and environment = job.environment and id = job.id
        and state = 'armed' and dispatch = job.dispatch offset 0) as delivery
    order by job.organization_id, job.environment, delivery.endpoint_id, job.id
  )
  select found.organization_id as "organizationId", found.environment, found.endpoint_id, found.id, found.position, endpoint.url,
    endpoint.active and endpoint.deleted_at is null and delivery.created_at > coalesce(endpoint.void_before, '-infinity') as is_expected,
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
      and state = 'armed' and dispatch = found.dispatch for no key update) as delivery`;

/** The deliveries whose dispatch is still valid, locked with their webhooks, which every transaction locks in the same order. */
export async function lockInFlight(sql: Sql, jobs: readonly DispatchedKey[]): Promise<InFlightRow[]> {
  const rows = await sql<InFlightColumns>(lockInFlightStatement, [toRecordset(jobs)]);
  return rows.map((row) => ({
    organizationId: row.organizationId,
    environment: row.environment,
    webhookId: row.endpoint_id,
    deliveryId: row.id,
    position: row.position,
    url: row.url,
    isExpected: row.is_expected,
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

const saveEndedStatement = `
  update deliveries as delivery set state = item.state, look_at = null,
    due_at = greatest(coalesce(item.due_at, delivery.due_at), delivery.created_at),
    dispatch = delivery.dispatch + 1, attempts_made = item.attempts_made, last_failure_at = item.last_failure_at,
    attempts = delivery.attempts || coalesce(item.attempt, '[]'), ended_at = case when item.state = 'waiting' then null else $2::timestamptz end,
    response_status = coalesce(item.response_status, delivery.response_status),
    response_body = coalesce(item.response_body, delivery.response_body)
  from jsonb_to_recordset($1::jsonb) as item (organization_id text, environment text, id text, state text, due_at timestamptz,
    attempts_made integer, last_failure_at timestamptz, attempt jsonb, response_status integer, response_body text)
  cross join lateral (
    select tableoid as part, ctid as place from deliveries
    where organization_id = item.organization_id and environment = item.environment and id = item.id offset 0) as locked
  where ${atRowOf('locked')}`;

/** Writes the ends of attempts. */
export async function saveEnded(sql: Sql, ended: readonly EndedDelivery[], now: number): Promise<void> {
  await sql(saveEndedStatement, [JSON.stringify(ended.map((each) => endRecordOf(each, now))), isoTime(now)]);
}

function endRecordOf({ organizationId, environment, deliveryId, end, outcome }: EndedDelivery, now: number) {
  return {
    organization_id: organizationId,
    environment,
    id: deliveryId,
    state: end.state,
    due_at: end.state === 'waiting' ? isoTime(end.dueAt) : null,
    attempts_made: end.attemptsMade,
    last_failure_at: end.failedAt === null ? null : isoTime(end.failedAt),
    attempt: outcome.kind === 'returned' ? null : [attemptOf(outcome, now)],
    response_status: outcome.kind === 'answered' ? outcome.status : null,
    response_body: outcome.kind === 'answered' ? outcome.body : null,
  };
}

/** An entry of a delivery's history, as callers see it. */
export interface AttemptRecord {
  at: string;
  status: number;
  error: string;
  duration_ms: number;
}

const attemptOf = (outcome: Exclude<Outcome, { kind: 'returned' }>, now: number): AttemptRecord => ({
  at: isoTime(now - outcome.durationMs),
  status: outcome.kind === 'answered' ? outcome.status : 0,
  error: outcome.kind === 'answered' ? '' : outcome.reason,
  duration_ms: outcome.durationMs,
});

export interface WebhookUpdate extends WebhookKey {
  health: Health;
  isAttempted: boolean;
  /** When the queue has to be checked for the first retry. */
  checkAt: number | null;
}

const saveWebhookHealthStatement = `
  update endpoints as endpoint set status = item.status, failing_since = item.failing_since, first_failure_at = item.first_failure_at,
    failed_events = item.failed_events, last_delivery_at = case when item.attempted then $2 else endpoint.last_delivery_at end,
    look_at = least(endpoint.look_at, item.look_at),
    active = endpoint.active and item.status <> 'disabled',
    void_before = case when endpoint.active and item.status = 'disabled' then $2 else endpoint.void_before end,
    voiding = endpoint.voiding or (endpoint.active and item.status = 'disabled')
  from jsonb_to_recordset($1::jsonb) as item (organization_id text, environment text, id text, status text, failing_since timestamptz,
    first_failure_at timestamptz, failed_events integer, attempted boolean, look_at timestamptz)
  cross join lateral (
    select tableoid as part, ctid as place from endpoints
    where organization_id = item.organization_id and environment = item.environment and id = item.id offset 0) as locked
  where ${atRowOf('locked', 'endpoint')}`;

/** Writes the health of locked webhooks. One that was disabled loses its pending deliveries. */
export async function saveWebhookHealth(sql: Sql, endpoints: readonly WebhookUpdate[], now: number): Promise<void> {
  const items = endpoints.map(({ organizationId, environment, webhookId, health, isAttempted, checkAt }) => ({
    organization_id: organizationId,
    environment,
    id: webhookId,
    status: health.status,
    failing_since: health.failingSince === null ? null : isoTime(health.failingSince),
    first_failure_at: health.firstFailureAt === null ? null : isoTime(health.firstFailureAt),
    failed_events: health.failedEvents,
    attempted: isAttempted,
    look_at: checkAt === null ? null : isoTime(checkAt),
  }));
  await sql(saveWebhookHealthStatement, [JSON.stringify(items), isoTime(now)]);
}

interface HealthColumns {
  status: HealthStatus;
  failing_since: string | null;
  first_failure_at: string | null;
  failed_events: number;
}

const toHealth = (row: HealthColumns): Health => ({
  status: row.status,
  failingSince: toMsOrNull(row.failing_since),
  firstFailureAt: toMsOrNull(row.first_failure_at),
  failedEvents: row.failed_events,
});

export const attemptStatements = {
  findAttempts: findAttemptsStatement,
  dropWithoutEvent: dropWithoutEventStatement,
  saveDelivered: saveDeliveredStatement,
  recordDeliveryTimes: recordDeliveryTimesStatement,
  lockInFlight: lockInFlightStatement,
  saveEnded: saveEndedStatement,
  saveWebhookHealth: saveWebhookHealthStatement,
};
