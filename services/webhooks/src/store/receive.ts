import { newId } from '@agent-service/contracts';
import { isoTime, type Sql } from '@agent-service/store';
import { tenantName } from '@agent-service/work';
import type { WebhookEvent } from '../domain/events.ts';
import { firstListedMonth, nameOfMonth } from './months.ts';
import { distinctWebhooks, limitSharedWait, type WebhookKey, webhookColumns } from './queue.ts';

/** The queue of a webhook is checked this long after a delivery was added, in case it was not dispatched. */
const checkNewAfterMs = 2_000;

interface Subscription extends WebhookKey {
  events: string[];
}

interface EventDelivery extends WebhookKey {
  id: string;
  eventId: string;
  eventType: string;
}

/** Stores events that have subscribers, each id once, with a delivery for each subscribed webhook, in a transaction. Resolves to these webhooks. */
export async function storeEvents(sql: Sql, events: readonly WebhookEvent[], now: number): Promise<WebhookKey[]> {
  const subscriptions = await findSubscriptions(sql, events);
  const subscribed = events.filter((event) => subscribersOf(subscriptions, event).length > 0);
  if (subscribed.length === 0) return [];
  const added = await addEvents(sql, subscribed, now);
  const deliveries = added.flatMap((event) =>
    subscribersOf(subscriptions, event).map(({ organizationId, environment, webhookId }) => ({
      organizationId,
      environment,
      webhookId,
      id: newId('dlv', now),
      eventId: event.id,
      eventType: event.type,
    })),
  );
  await addDeliveries(sql, deliveries, now);
  return distinctWebhooks(deliveries);
}

const subscribersOf = (subscriptions: readonly Subscription[], { organizationId, environment, type }: WebhookEvent) =>
  subscriptions.filter((each) => each.organizationId === organizationId && each.environment === environment && each.events.includes(type));

const findSubscriptionsStatement = `
  select endpoint.organization_id as "organizationId", endpoint.environment, endpoint.id as "webhookId", endpoint.events
  from unnest($1::text[], $2::text[]) as tenant (organization_id, environment)
  join endpoints as endpoint using (organization_id, environment)
  where endpoint.active and endpoint.deleted_at is null and endpoint.events && $3`;

function findSubscriptions(sql: Sql, events: readonly WebhookEvent[]): Promise<Subscription[]> {
  const tenants = new Map(events.map((event) => [tenantName(event), event]));
  return sql<Subscription>(findSubscriptionsStatement, [
    [...tenants.values()].map(({ organizationId }) => organizationId),
    [...tenants.values()].map(({ environment }) => environment),
    [...new Set(events.map(({ type }) => type))],
  ]);
}

const addEventsStatement = `
  insert into events (organization_id, environment, id, month, type, body, received_at)
  select event.organization_id, event.environment, event.id, event.month, event.type, event.body, $7
  from unnest($1::text[], $2::text[], $3::text[], $4::date[], $5::text[], $6::text[])
    as event (organization_id, environment, id, month, type, body)
  on conflict do nothing returning organization_id as "organizationId", environment, id`;

type EventKey = Pick<WebhookEvent, 'organizationId' | 'environment' | 'id'>;

/** Adds events and returns those that are new. In one order, so that two batches with the same events cannot deadlock. */
async function addEvents(sql: Sql, events: readonly WebhookEvent[], now: number): Promise<WebhookEvent[]> {
  const textOf = ({ organizationId, environment, id }: EventKey) => `${organizationId}/${environment}/${id}`;
  const byKey = new Map(events.map((event) => [textOf(event), event]));
  const rows = [...byKey.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, event]) => event);
  const added = await sql<EventKey>(addEventsStatement, [
    rows.map(({ organizationId }) => organizationId),
    rows.map(({ environment }) => environment),
    rows.map(({ id }) => id),
    rows.map(({ month }) => month),
    rows.map(({ type }) => type),
    rows.map(({ body }) => body),
    isoTime(now),
  ]);
  return added.flatMap((row) => byKey.get(textOf(row)) ?? []);
}

const addDeliveriesStatement = `
  insert into deliveries (organization_id, environment, endpoint_id, id, event_id, event_type, state, due_at, created_at)
  select organization_id, environment, endpoint_id, id, event_id, event_type, 'waiting', $7, $7
  from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
    as delivery (organization_id, environment, endpoint_id, id, event_id, event_type)`;

async function addDeliveries(sql: Sql, deliveries: readonly EventDelivery[], now: number): Promise<void> {
  if (deliveries.length === 0) return;
  await sql(addDeliveriesStatement, [
    ...webhookColumns(deliveries),
    deliveries.map(({ id }) => id),
    deliveries.map(({ eventId }) => eventId),
    deliveries.map(({ eventType }) => eventType),
    isoTime(now),
  ]);
  // For one tenant as well: the relay waits for the response to these events before it sends those of other tenants, and retries them.
  await limitSharedWait(sql);
  await countDeliveries(sql, deliveries, now);
}

const countDeliveriesStatement = `
  with added as (
    select organization_id, environment, endpoint_id, count(*) as deliveries
    from unnest($1::text[], $2::text[], $3::text[]) as delivery (organization_id, environment, endpoint_id) group by 1, 2, 3
  ), locked as (
    select endpoint.organization_id, endpoint.environment, endpoint.id, added.deliveries from added join endpoints as endpoint
      on endpoint.organization_id = added.organization_id and endpoint.environment = added.environment and endpoint.id = added.endpoint_id
    order by 1, 2, 3 for no key update of endpoint
  )
  update endpoints as endpoint set look_at = least(endpoint.look_at, $4),
    void_before = case when endpoint.active then endpoint.void_before else greatest(endpoint.void_before, $7) end,
    voiding = endpoint.voiding or not endpoint.active or coalesce(endpoint.void_before >= $7, false),
    deliveries_by_month = jsonb_build_object($5::text, locked.deliveries + coalesce((endpoint.deliveries_by_month ->> $5)::bigint, 0)) || coalesce((
      select jsonb_object_agg(month, counted) from jsonb_each(endpoint.deliveries_by_month) as each (month, counted)
      where month >= $6 and month <> $5), '{}')
  from locked where endpoint.organization_id = locked.organization_id and endpoint.environment = locked.environment and endpoint.id = locked.id`;

/**
 * Counts deliveries that were created now at their webhooks and schedules a check of their queues. Those of a webhook that was deactivated or
 * deleted since it was read are dropped, also where it is active again: `void_before` is then the time of the deactivation, or later.
 */
export async function countDeliveries(sql: Sql, deliveries: readonly WebhookKey[], now: number): Promise<void> {
  await sql(countDeliveriesStatement, [
    ...webhookColumns(deliveries),
    isoTime(now + checkNewAfterMs),
    nameOfMonth(now),
    firstListedMonth(now).name,
    isoTime(now),
  ]);
}

export const receiveStatements = {
  findSubscriptions: findSubscriptionsStatement,
  addEvents: addEventsStatement,
  addDeliveries: addDeliveriesStatement,
  countDeliveries: countDeliveriesStatement,
};
