import type { Tenant } from '@agent-service/contracts';
import { isoTime, monthOf, type Page, type Sql } from '@agent-service/store';
import type { AttemptRecord } from './attempts.ts';
import { deliveriesRetainedMs, firstListedMonth, firstSendableMonth, toMonthColumn } from './months.ts';

export interface DeliveryRow {
  id: string;
  eventId: string;
  eventType: string;
  state: 'waiting' | 'armed' | 'delivered' | 'failed' | 'dropped';
  attempts: AttemptRecord[];
  responseStatus: number;
  responseBody: string;
  dueAt: string;
  createdAt: string;
  endedAt: string | null;
  redeliveryOf: string | null;
}

const columns = `id, event_id as "eventId", event_type as "eventType", state, attempts, response_status as "responseStatus",
  response_body as "responseBody", due_at as "dueAt", created_at as "createdAt", ended_at as "endedAt", redelivery_of as "redeliveryOf"`;

const countDeliveriesOfStatement = `
  select coalesce((select sum(counted::bigint) from jsonb_each_text(deliveries_by_month) as each (month, counted) where month >= $4), 0) as deliveries
  from endpoints where organization_id = $1 and environment = $2 and id = $3 and deleted_at is null`;

/** The number of deliveries in the listed months; undefined if there is no such webhook. */
export async function countDeliveriesOf(
  sql: Sql,
  { organizationId, environment }: Tenant,
  webhookId: string,
  now: number,
): Promise<number | undefined> {
  const [row] = await sql<{ deliveries: string }>(countDeliveriesOfStatement, [
    organizationId,
    environment,
    webhookId,
    firstListedMonth(now).name,
  ]);
  return row && Number(row.deliveries);
}

const selectStatement = (seek: string) => `
  select ${columns} from deliveries where organization_id = $1 and environment = $2 and endpoint_id = $3 and created_at >= $5 ${seek}
  order by created_at desc, id desc limit $4`;

const seek = 'and (created_at, id) < ($6::timestamptz, $7)';

/** Newest first, of the listed months. One row more than `limit` shows that there is a further page. */
export function selectDeliveries(
  sql: Sql,
  { organizationId, environment }: Tenant,
  webhookId: string,
  { after, limit, now }: { after: Page['after'] | undefined; limit: number; now: number },
): Promise<DeliveryRow[]> {
  return sql<DeliveryRow>(after ? selectStatement(seek) : selectStatement(''), [
    organizationId,
    environment,
    webhookId,
    limit + 1,
    firstListedMonth(now).start,
    ...(after ?? []),
  ]);
}

export interface NewDelivery extends Tenant {
  id: string;
  webhookId: string;
  eventId: string;
  eventType: string;
  redeliveryOf: string | null;
  /** When the delivery that it repeats failed last: the health of the webhook counts the event once. */
  lastFailureAt: string | null;
  test: boolean;
  at: number;
}

const addDeliveryStatement = `
  insert into deliveries (organization_id, environment, id, endpoint_id, event_id, event_type, redelivery_of, last_failure_at, test, state, due_at,
    created_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'waiting', $10, $10) returning ${columns}`;

export async function addDelivery(sql: Sql, delivery: NewDelivery): Promise<DeliveryRow> {
  const { organizationId, environment, id, webhookId, eventId, eventType, redeliveryOf, lastFailureAt, test, at } = delivery;
  const [row] = await sql<DeliveryRow>(addDeliveryStatement, [
    organizationId,
    environment,
    id,
    webhookId,
    eventId,
    eventType,
    redeliveryOf,
    lastFailureAt,
    test,
    isoTime(at),
  ]);
  return row as DeliveryRow;
}

// Each row is looked up alone and by its key: without statistics the planner would otherwise read all deliveries of the webhook, or all events
// of the tenant.
const findRepeatableStatement = `
  select delivery.event_id as "eventId", delivery.event_type as "eventType", delivery.test, delivery.last_failure_at as "lastFailureAt"
  from (
    select endpoint_id, event_id, event_type, test, last_failure_at from deliveries
    where organization_id = $1 and environment = $2 and id = $4 offset 0) as delivery
  cross join lateral (
    select received_at, month from events where organization_id = $1 and environment = $2 and id = delivery.event_id offset 0) as event
  where delivery.endpoint_id = $3 and event.received_at > $5 and event.month >= $6`;

type Repeatable = Pick<NewDelivery, 'eventId' | 'eventType' | 'lastFailureAt' | 'test'>;

/** The event of a delivery, if it is retained and can be sent again. */
export async function findRepeatable(
  sql: Sql,
  { organizationId, environment }: Tenant,
  webhookId: string,
  id: string,
  now: number,
): Promise<Repeatable | undefined> {
  const receivedAfter = isoTime(now - deliveriesRetainedMs);
  const key = [organizationId, environment, webhookId, id];
  const [row] = await sql<Repeatable>(findRepeatableStatement, [...key, receivedAfter, firstSendableMonth(now)]);
  return row;
}

const addTestEventStatement =
  'insert into events (organization_id, environment, id, type, body, received_at, month) values ($1, $2, $3, $4, $5, $6, $7)';

export async function addTestEvent(
  sql: Sql,
  { organizationId, environment }: Tenant,
  { id, type, body, at }: { id: string; type: string; body: string; at: number },
): Promise<void> {
  await sql(addTestEventStatement, [organizationId, environment, id, type, body, isoTime(at), toMonthColumn(monthOf(at))]);
}

export const deliveryStatements = {
  countDeliveriesOf: countDeliveriesOfStatement,
  selectDeliveries: selectStatement(''),
  selectFurtherDeliveries: selectStatement(seek),
  addDelivery: addDeliveryStatement,
  findRepeatable: findRepeatableStatement,
  addTestEvent: addTestEventStatement,
};
