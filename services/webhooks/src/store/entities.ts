import { defineEntity, type InferEntity, p } from '@agent-service/store';

const timestamp = () => p.datetime(3);
const environments = ['live', 'test'] as const;

/** A webhook registration. Deliveries are written by prepared statements. */
export const Webhook = defineEntity({
  name: 'Webhook',
  tableName: 'endpoints',
  properties: {
    organizationId: p.text().primary(),
    environment: p.enum(environments).primary(),
    id: p.text().primary(),
    url: p.text(),
    events: p.array<string>(),
    description: p.text(),
    active: p.boolean(),
    secret: p.text(),
    previousSecret: p.text().nullable(),
    previousSecretUntil: timestamp().nullable(),
    status: p.enum(['healthy', 'failing', 'disabled'] as const),
    failingSince: timestamp().nullable(),
    firstFailureAt: timestamp().nullable(),
    failedEvents: p.integer(),
    lastDeliveryAt: timestamp().nullable(),
    /** No longer read: `deliveriesByMonth` replaced it. */
    deliveries: p.bigint('number'),
    /** When the queue has to be checked again; null if no delivery waits. */
    lookAt: timestamp().nullable(),
    /** Deliveries that were created up to this time are dropped. */
    voidBefore: timestamp().nullable(),
    /** Some of them may not be dropped yet. */
    voiding: p.boolean(),
    deletedAt: timestamp().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
    deliveriesByMonth: p.json<Record<string, number>>(),
  },
});

export type WebhookRow = InferEntity<typeof Webhook>;

export const entities = [Webhook];
