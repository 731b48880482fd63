import type { Tenant } from '@agent-service/contracts';
import { isoTime, type Sql } from '@agent-service/store';
import { laneWidth, narrowLaneWidth, organizationWidth } from '../domain/schedule.ts';

/** Times are milliseconds in the code and timestamps in the database; statements take them as text. */
export const toMs = (stored: string): number => new Date(stored).getTime();
export const toMsOrNull = (stored: string | null): number | null => (stored === null ? null : toMs(stored));

export interface WebhookKey extends Tenant {
  readonly webhookId: string;
}

export const webhookKeyText = ({ organizationId, environment, webhookId }: WebhookKey) => `${organizationId}/${environment}/${webhookId}`;

/** Each webhook once, in the order in which every transaction locks webhooks. */
export function distinctWebhooks(keys: Iterable<WebhookKey>): WebhookKey[] {
  const byText = new Map([...keys].map((key) => [webhookKeyText(key), key]));
  return [...byText.entries()]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { organizationId, environment, webhookId }]) => ({ organizationId, environment, webhookId }));
}

/** The parameters of `unnest($1::text[], $2::text[], $3::text[])`. */
export const webhookColumns = (keys: readonly WebhookKey[]): [string[], string[], string[]] => [
  keys.map(({ organizationId }) => organizationId),
  keys.map(({ environment }) => environment),
  keys.map(({ webhookId }) => webhookId),
];

/** How long a batch of several tenants waits for a locked webhook of one of them. */
const sharedLockLimitMs = 200;

/** Limits each wait for a lock in the rest of the transaction. */
export const limitSharedWait = (sql: Sql): Promise<unknown> =>
  sql(`select set_config('lock_timeout', $1, true)`, [String(sharedLockLimitMs)]);

/** A job is checked in Redis this long after its dispatch. Redis has it until its dispatcher has ended it or died. */
const unconfirmedAfterMs = 10_000;
/** A queue with deliveries that are due is checked again after this, in case they are not dispatched. */
const checkAfterMs = 5_000;

/** A delivery with the number of its dispatch: an outcome counts only if the number is still the same. */
export interface DispatchedKey extends Tenant {
  readonly deliveryId: string;
  readonly dispatch: number;
}

/** The order in which statements lock deliveries by their keys, unless they lock the webhook of each with it. */
export const inLockOrder = <Key extends DispatchedKey>(deliveries: readonly Key[]): Key[] =>
  deliveries.toSorted((a, b) => (a.deliveryId < b.deliveryId ? -1 : 1));

export interface DispatchedDelivery extends DispatchedKey {
  /** The job that has it, with other deliveries. */
  readonly job: string;
}

export interface WebhookJobs extends WebhookKey {
  /** The job for its deliveries while it is healthy. */
  readonly shared: string;
  /** The job for its deliveries after a failure. */
  readonly own: string;
}

/**
 * Matches `target` with the row that a relation locates by `part` and `place`. A join by key reads the whole table where statistics are
 * missing. The condition that always holds makes the planner expect few rows and look each of them up.
 */
export const atRowOf = (relation: string, target = 'delivery'): string =>
  `${target}.tableoid = ${relation}.part and ${target}.ctid = ${relation}.place and (${relation}.part, ${relation}.place) is not distinct from (${relation}.part, ${relation}.place)`;

/**
 * `lanes` has every webhook of the organizations with the number of its dispatched deliveries, and `organizations` how many more the limit
 * of its organization leaves to each wanted webhook. `open` has the wanted webhooks with the room in their lanes, which is at least one where
 * no delivery is dispatched, and `due` the deliveries that fit.
 *
 * The armed deliveries of a webhook are counted in the order of an index. Otherwise the planner may choose the primary key, which reads all
 * deliveries of the tenant, those included that have ended. No delivery is due before it was created, so the index leads past most of the void
 * ones, of which there may be a million.
 */
const dispatchDueStatement = `
  with wanted as materialized (
    select * from unnest($1::text[], $2::text[], $3::text[], $6::text[], $7::text[]) as wanted (organization_id, environment, id, shared, own)
  ), lanes as materialized (
    select endpoint.*, (
      select count(*)::integer from (
        select from deliveries as delivery
        where delivery.organization_id = endpoint.organization_id and delivery.environment = endpoint.environment
          and delivery.endpoint_id = endpoint.id and delivery.state = 'armed' and delivery.ended_at is null
        order by delivery.due_at limit ${organizationWidth}) as delivery) as armed
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
  ), due as materialized (
    select waiting.part, waiting.place, open.job from open cross join lateral (
      select delivery.tableoid as part, delivery.ctid as place from deliveries as delivery
      where delivery.organization_id = open.organization_id and delivery.environment = open.environment
        and delivery.endpoint_id = open.id and delivery.state = 'waiting' and delivery.ended_at is null and delivery.due_at <= $4
        and delivery.created_at > open.void_before and delivery.due_at > open.void_before
      order by delivery.due_at limit greatest(open.room, 0) for update skip locked) as waiting
  )
  update deliveries as delivery set state = 'armed', dispatch = delivery.dispatch + 1, look_at = $5, job = due.job from due
  where ${atRowOf('due')}
  returning delivery.organization_id as "organizationId", delivery.environment, delivery.id as "deliveryId", delivery.dispatch, delivery.job`;

/**
 * Dispatches the due deliveries of these webhooks, oldest first, as far as their lanes and their organizations have room. Lanes are counted
 * without a lock: two replicas at the same moment may fill a lane twice.
 */
export const dispatchDue = (sql: Sql, webhooks: readonly WebhookJobs[], now: number): Promise<DispatchedDelivery[]> =>
  sql<DispatchedDelivery>(dispatchDueStatement, [
    ...webhookColumns(webhooks),
    isoTime(now),
    isoTime(now + unconfirmedAfterMs),
    webhooks.map(({ shared }) => shared),
    webhooks.map(({ own }) => own),
  ]);

/** Has the queues of these webhooks checked at this time or earlier. */
export async function scheduleChecks(sql: Sql, webhooks: readonly WebhookKey[], at: number): Promise<void> {
  if (webhooks.length > 0) await sql(scheduleChecksStatement, [...webhookColumns(webhooks), isoTime(at)]);
}

const scheduleChecksStatement = `
  with locked as (
    select endpoint.organization_id, endpoint.environment, endpoint.id
    from unnest($1::text[], $2::text[], $3::text[]) as requested (organization_id, environment, id)
    join endpoints as endpoint using (organization_id, environment, id) order by 1, 2, 3 for no key update of endpoint
  )
  update endpoints as endpoint set look_at = least(endpoint.look_at, $4) from locked
  where endpoint.organization_id = locked.organization_id and endpoint.environment = locked.environment and endpoint.id = locked.id`;

/**
 * Claims a bounded number of webhooks whose queue has to be checked, and schedules the next check for when their first delivery is due; none where
 * no delivery waits, since what makes a delivery wait schedules a check in the same transaction. In two statements, because the second must see
 * deliveries that were added before the first had its locks.
 */
export async function claimDueChecks(sql: Sql, now: number, limit: number): Promise<WebhookKey[]> {
  const webhooks = await sql<WebhookKey>(lockDueChecks, [isoTime(now), limit]);
  if (webhooks.length > 0) await sql(scheduleNextChecks, [...webhookColumns(webhooks), isoTime(now)]);
  return webhooks;
}

const lockDueChecks = `
  select organization_id as "organizationId", environment, id as "webhookId" from endpoints where look_at <= $1
  order by look_at limit $2 for no key update skip locked`;
const scheduleNextChecks = `
  update endpoints as endpoint set look_at = (
    select case when delivery.due_at > $4 then delivery.due_at else $4::timestamptz + interval '${checkAfterMs} milliseconds' end
    from deliveries as delivery
    where delivery.organization_id = endpoint.organization_id and delivery.environment = endpoint.environment
      and delivery.endpoint_id = endpoint.id and delivery.state = 'waiting' and delivery.ended_at is null
    order by delivery.due_at limit 1)
  from unnest($1::text[], $2::text[], $3::text[]) as claimed (organization_id, environment, id)
  where endpoint.organization_id = claimed.organization_id and endpoint.environment = claimed.environment and endpoint.id = claimed.id`;

export interface UnconfirmedDelivery extends DispatchedDelivery, WebhookKey {}

/** Claims a bounded number of deliveries that were dispatched some time ago and have not ended, until the next check. */
export const claimUnconfirmed = (sql: Sql, now: number, limit: number): Promise<UnconfirmedDelivery[]> =>
  sql<UnconfirmedDelivery>(claimUnconfirmedStatement, [isoTime(now), isoTime(now + unconfirmedAfterMs), limit]);

const claimUnconfirmedStatement = `
  with unconfirmed as materialized (
    select tableoid as part, ctid as place from deliveries where look_at <= $1 order by look_at limit $3 for update skip locked)
  update deliveries as delivery set look_at = $2 from unconfirmed
  where ${atRowOf('unconfirmed')}
  returning delivery.organization_id as "organizationId", delivery.environment, delivery.endpoint_id as "webhookId",
    delivery.id as "deliveryId", delivery.dispatch, delivery.job`;

/** Returns deliveries whose job is lost to their queues, unless they have ended or been dispatched again in the meantime. */
export async function returnToQueue(sql: Sql, lost: readonly UnconfirmedDelivery[]): Promise<void> {
  const ordered = inLockOrder(lost);
  const deliveries = [ordered.map(({ deliveryId }) => deliveryId), ordered.map(({ dispatch }) => dispatch)];
  await sql(returnStatement, [...webhookColumns(ordered), ...deliveries]);
}

const returnStatement = `
  update deliveries as delivery set state = 'waiting', look_at = null
  from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::integer[]) as lost (organization_id, environment, endpoint_id, id, dispatch)
  where delivery.organization_id = lost.organization_id and delivery.environment = lost.environment and delivery.id = lost.id
    and delivery.state = 'armed' and delivery.dispatch = lost.dispatch`;

/** The prepared statements of this file; a test prepares each against the migrated schema. */
export const queueStatements = {
  dispatchDueStatement,
  scheduleChecksStatement,
  lockDueChecks,
  scheduleNextChecks,
  claimUnconfirmedStatement,
  returnStatement,
};
