import { newId } from '@agent-service/contracts';
import type { Sql } from '@agent-service/store';
import type { WebhookEvent } from '../domain/event.ts';
import { distinctEndpoints, type EndpointKey, endpointColumns } from './keys.ts';
import { firstShown, nameOfMonth } from './months.ts';
import { toTimestamp } from './time.ts';

/** How long after its arrival a delivery is looked after that nobody has taken out of the line. */
const forgottenMs = 2_000;

interface Subscription extends EndpointKey {
  events: string[];
}

interface NewDelivery extends EndpointKey {
  id: string;
  eventId: string;
  eventType: string;
}

/**
 * Stores events that somebody listens to, each id once, with a delivery for every endpoint that does. Answers with the
 * endpoints that have got something to be sent.
 */
export async function receiveEvents(sql: Sql, events: readonly WebhookEvent[], now: number): Promise<EndpointKey[]> {
  const subscriptions = await findSubscriptions(sql, events);
  const wanted = events.filter((event) => subscribersOf(subscriptions, event).length > 0);
  if (wanted.length === 0) return [];
  const fresh = await addEvents(sql, wanted, now);
  const deliveries = fresh.flatMap((event) =>
    subscribersOf(subscriptions, event).map(({ endpointId }) => ({
      ...tenantOf(event),
      endpointId,
      id: newId('dlv', now),
      eventId: event.id,
      eventType: event.type,
    })),
  );
  await addDeliveries(sql, deliveries, now);
  return distinctEndpoints(deliveries);
}

const tenantOf = ({ organizationId, environment }: WebhookEvent) => ({ organizationId, environment });

const subscribersOf = (subscriptions: readonly Subscription[], { organizationId, environment, type }: WebhookEvent) =>
  subscriptions.filter((each) => each.organizationId === organizationId && each.environment === environment && each.events.includes(type));

function findSubscriptions(sql: Sql, events: readonly WebhookEvent[]): Promise<Subscription[]> {
  const tenants = new Map(events.map((event) => [`${event.organizationId}/${event.environment}`, event]));
  return sql<Subscription>(
    `select endpoint.organization_id as "organizationId", endpoint.environment, endpoint.id as "endpointId", endpoint.events
     from unnest($1::text[], $2::text[]) as tenant (organization_id, environment)
     join endpoints as endpoint using (organization_id, environment)
     where endpoint.active and endpoint.deleted_at is null and endpoint.events && $3`,
    [
      [...tenants.values()].map(({ organizationId }) => organizationId),
      [...tenants.values()].map(({ environment }) => environment),
      [...new Set(events.map(({ type }) => type))],
    ],
  );
}

/** Those that were not known yet. In one order, so that two batches with the same events wait for each other once. */
async function addEvents(sql: Sql, events: readonly WebhookEvent[], now: number): Promise<WebhookEvent[]> {
  const textOf = ({ organizationId, environment, id }: WebhookEvent) => `${organizationId}/${environment}/${id}`;
  const byKey = new Map(events.map((event) => [textOf(event), event]));
  const rows = [...byKey.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, event]) => event);
  const added = await sql<{ organizationId: string; environment: WebhookEvent['environment']; id: string }>(
    `insert into events (organization_id, environment, id, month, type, body, received_at)
     select event.organization_id, event.environment, event.id, event.month, event.type, event.body, $7
     from unnest($1::text[], $2::text[], $3::text[], $4::date[], $5::text[], $6::text[])
       as event (organization_id, environment, id, month, type, body)
     on conflict do nothing returning organization_id as "organizationId", environment, id`,
    [
      rows.map(({ organizationId }) => organizationId),
      rows.map(({ environment }) => environment),
      rows.map(({ id }) => id),
      rows.map(({ month }) => month),
      rows.map(({ type }) => type),
      rows.map(({ body }) => body),
      toTimestamp(now),
    ],
  );
  return added.flatMap(({ organizationId, environment, id }) => byKey.get(`${organizationId}/${environment}/${id}`) ?? []);
}

async function addDeliveries(sql: Sql, deliveries: readonly NewDelivery[], now: number): Promise<void> {
  if (deliveries.length === 0) return;
  await sql(
    `insert into deliveries (organization_id, environment, endpoint_id, id, event_id, event_type, state, due_at, created_at)
     select organization_id, environment, endpoint_id, id, event_id, event_type, 'waiting', $7, $7
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
       as delivery (organization_id, environment, endpoint_id, id, event_id, event_type)`,
    [
      ...endpointColumns(deliveries),
      deliveries.map(({ id }) => id),
      deliveries.map(({ eventId }) => eventId),
      deliveries.map(({ eventType }) => eventType),
      toTimestamp(now),
    ],
  );
  await countDeliveries(sql, deliveries, now);
}

/** Counts new deliveries to their endpoints and has their lines looked after. */
export async function countDeliveries(sql: Sql, deliveries: readonly EndpointKey[], now: number): Promise<void> {
  await sql(
    `with made as (
       select organization_id, environment, endpoint_id, count(*) as deliveries
       from unnest($1::text[], $2::text[], $3::text[]) as delivery (organization_id, environment, endpoint_id) group by 1, 2, 3
     ), locked as (
       select endpoint.organization_id, endpoint.environment, endpoint.id, made.deliveries from made join endpoints as endpoint
         on endpoint.organization_id = made.organization_id and endpoint.environment = made.environment and endpoint.id = made.endpoint_id
       order by 1, 2, 3 for no key update of endpoint
     )
     update endpoints as endpoint set look_at = least(endpoint.look_at, $4),
       deliveries_by_month = jsonb_build_object($5::text, locked.deliveries + coalesce((endpoint.deliveries_by_month ->> $5)::bigint, 0)) || coalesce((
         select jsonb_object_agg(month, counted) from jsonb_each(endpoint.deliveries_by_month) as each (month, counted)
         where month >= $6 and month <> $5), '{}')
     from locked where endpoint.organization_id = locked.organization_id and endpoint.environment = locked.environment and endpoint.id = locked.id`,
    [...endpointColumns(deliveries), toTimestamp(now + forgottenMs), nameOfMonth(now), firstShown(now).name],
  );
}
