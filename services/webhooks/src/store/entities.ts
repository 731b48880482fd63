import { defineEntity, environment, type InferEntity, migratedIndex, p, texts, timestamp } from '@agent-service/store/entities';

/** The environment of these tables has no check: only that of `endpoints` has one. */
const looseTenant = { organizationId: p.text().primary(), environment: p.text().primary() };

/** A webhook registration, which the database calls an endpoint. Deliveries are written by prepared statements. */
export const Webhook = defineEntity({
  name: 'Webhook',
  tableName: 'endpoints',
  indexes: [
    migratedIndex('endpoints_created_at_index'),
    migratedIndex('endpoints_look_at_index'),
    migratedIndex('endpoints_voiding_index'),
    migratedIndex('endpoints_deleted_at_index'),
    migratedIndex('endpoints_secret_key_version_index'),
    migratedIndex('endpoints_previous_secret_key_version_index'),
  ],
  checks: [
    { name: 'endpoints_deliveries_check', property: 'deliveries', expression: 'deliveries >= 0' },
    { name: 'endpoints_disabled_are_inactive', expression: "status <> 'disabled' or not active" },
  ],
  properties: {
    organizationId: p.text().primary(),
    environment: environment().primary(),
    id: p.text().primary(),
    url: p.text(),
    events: texts(),
    description: p.text(),
    active: p.boolean(),
    secret: p.text(),
    previousSecret: p.text().nullable(),
    previousSecretUntil: timestamp().nullable(),
    status: p.enum(['healthy', 'failing', 'disabled'] as const).default('healthy'),
    failingSince: timestamp().nullable(),
    firstFailureAt: timestamp().nullable(),
    failedEvents: p.integer().default(0),
    lastDeliveryAt: timestamp().nullable(),
    /** No longer read: `deliveriesByMonth` replaced it. */
    deliveries: p.bigint('number').defaultRaw('0'),
    /** When the queue has to be checked again; null if no delivery waits. */
    lookAt: timestamp().nullable(),
    /** Deliveries that were created up to this time are dropped. */
    voidBefore: timestamp().nullable(),
    /** Some of them may not be dropped yet. */
    voiding: p.boolean().default(false),
    deletedAt: timestamp().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
    deliveriesByMonth: p.json<Record<string, number>>().defaultRaw("'{}'"),
  },
});

export type WebhookRow = InferEntity<typeof Webhook>;

/** Partitioned by month. The month of events that were stored before there were partitions is a default, set by the migration. */
const EventEntity = defineEntity({
  name: 'Event',
  tableName: 'events',
  properties: {
    ...looseTenant,
    id: p.text().primary(),
    month: p.date().primary(),
    type: p.text(),
    body: p.text(),
    receivedAt: timestamp(),
  },
});

/** Partitioned by month. */
const DeliveryEntity = defineEntity({
  name: 'Delivery',
  tableName: 'deliveries',
  indexes: [migratedIndex('deliveries_endpoint_index'), migratedIndex('deliveries_line_index'), migratedIndex('deliveries_look_at_index')],
  checks: [
    { name: 'deliveries_ended', expression: "(ended_at is null) = (state in ('waiting', 'armed'))" },
    { name: 'deliveries_looked_after', expression: "(look_at is not null) = (state = 'armed')" },
    { name: 'deliveries_armed_by', expression: "job is not null or state <> 'armed'" },
  ],
  properties: {
    ...looseTenant,
    id: p.text().primary(),
    createdAt: timestamp().primary(),
    endpointId: p.text(),
    eventId: p.text(),
    eventType: p.text(),
    redeliveryOf: p.text().nullable(),
    test: p.boolean().default(false),
    /** A delivery is `armed` while it is dispatched: a job has it. */
    state: p.enum(['waiting', 'armed', 'delivered', 'failed', 'dropped'] as const),
    dueAt: timestamp(),
    /** When its job has to be checked; null unless it is dispatched. */
    lookAt: timestamp().nullable(),
    job: p.text().nullable(),
    /** The number of its last dispatch, which an outcome has to name. */
    dispatch: p.integer().default(0),
    attemptsMade: p.integer().default(0),
    attempts: p.json<unknown[]>().defaultRaw("'[]'"),
    lastFailureAt: timestamp().nullable(),
    responseStatus: p.integer().default(0),
    responseBody: p.text().default(''),
    endedAt: timestamp().nullable(),
  },
});

/** An e-mail to the administrators of an organization that is not sent yet. */
const NoticeEntity = defineEntity({
  name: 'Notice',
  tableName: 'notices',
  indexes: [{ name: 'notices_try_at_index', properties: ['tryAt'] }],
  properties: {
    ...looseTenant,
    id: p.text().primary(),
    notice: p.json<unknown>(),
    tryAt: timestamp(),
    tries: p.integer().default(0),
    createdAt: timestamp(),
  },
});

/**
 * Every table of the schema but those that packages/store creates in each service. Only webhooks are read and written through their entity;
 * test/schema.test.ts compares all of them with the migrations.
 */
export const entities = [DeliveryEntity, EventEntity, NoticeEntity, Webhook];
