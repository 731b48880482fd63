import { type Client, eventTypes } from '@agent-service/contracts';
import { text } from '@agent-service/contracts/text';
import { z } from 'zod';

const example = {
  id: 'whk_01jz0000000000000000000000',
  url: 'https://hooks.example.com/agent-service',
  secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
  description: 'Tells our chat.',
};
const at = () => z.iso.datetime().meta({ example: '2026-01-31T10:00:00.000Z' });

export const webhookUrl = text(1, 2_048).meta({
  description: 'Where events are sent: an HTTPS URL of the public internet.',
  pattern: String.raw`^[Hh][Tt][Tt][Pp][Ss]://[^\s\\/?#@]+([/?][^\s\\#]*)?$`,
  example: example.url,
});
export const webhookEvents = z
  .array(z.enum(eventTypes))
  .min(1, 'must name at least one type of event')
  .meta({ example: ['credits.low_balance', 'credits.depleted'] });
export const webhookSecret = text(16, 255).meta({
  description: 'The secret that signs deliveries; generated if it is absent.',
  example: example.secret,
});
export const webhookDescription = text(0, 2_000).meta({ example: example.description });
export const webhookActive = z.boolean().meta({ example: true });

export const webhookParams = z.strictObject({ webhook_id: z.string().meta({ example: example.id }) });
export const deliveryParams = z.strictObject({
  webhook_id: z.string().meta({ example: example.id }),
  delivery_id: z.string().meta({ example: 'dlv_01jz0000000000000000000000' }),
});

export const createdWebhook = z
  .strictObject({
    id: z.string().meta({ example: example.id }),
    url: z.string().meta({ example: example.url }),
    events: webhookEvents,
    secret: z.string().meta({ description: 'Shown here and never again.', example: example.secret }),
    active: webhookActive,
    created_at: at(),
  })
  .meta({ id: 'CreatedWebhook' });

export const webhook = z
  .strictObject({
    id: z.string().meta({ example: example.id }),
    url: z.string().meta({ example: example.url }),
    events: webhookEvents,
    description: z.string().meta({ example: example.description }),
    active: webhookActive,
    status: z.enum(['healthy', 'failing', 'disabled']).meta({ example: 'healthy' }),
    failing_since: at().nullable().meta({ example: null }),
    last_delivery_at: at().nullable().meta({ example: '2026-01-31T10:05:00.000Z' }),
    created_at: at(),
    updated_at: at(),
  })
  .meta({ id: 'Webhook' });

export const rotatedSecret = z
  .strictObject({
    id: z.string().meta({ example: example.id }),
    secret: z.string().meta({ description: 'Shown here and never again.', example: example.secret }),
    previous_secret_until: at().meta({
      example: '2026-02-01T10:00:00.000Z',
      description: 'Until when the secret before signs along in `webhook-signature`.',
    }),
  })
  .meta({ id: 'RotatedWebhookSecret' });

export const delivery = z
  .strictObject({
    id: z.string().meta({ example: 'dlv_01jz0000000000000000000000' }),
    event_id: z.string().meta({ example: 'evt_01jz0000000000000000000000' }),
    event_type: z.string().meta({ example: 'credits.low_balance' }),
    status: z.enum(['pending', 'delivered', 'failed', 'dropped']).meta({ example: 'delivered' }),
    attempts: z.array(
      z
        .strictObject({
          at: at(),
          status: z.int().nullable().meta({ description: 'The HTTP status; null where nothing was answered.', example: 200 }),
          error: z.string().nullable().meta({ description: 'Why nothing was answered.', example: null }),
          duration_ms: z.int().meta({ example: 84 }),
        })
        .meta({ id: 'WebhookAttempt' }),
    ),
    response_status: z.int().nullable().meta({ description: 'The status of the last answer.', example: 200 }),
    response_body: z.string().nullable().meta({ description: 'The beginning of the last answer.', example: 'ok' }),
    next_attempt_at: at().nullable().meta({ example: null }),
    created_at: at(),
    ended_at: at().nullable().meta({ example: '2026-01-31T10:00:00.090Z' }),
    redelivery_of: z.string().nullable().meta({ description: 'The delivery that this one repeats.', example: null }),
  })
  .meta({ id: 'WebhookDelivery' });

/** A delivery that has just been made, as its examples show it. */
export const pendingDeliveryExample = {
  status: 'pending',
  attempts: [],
  response_status: null,
  response_body: null,
  next_attempt_at: '2026-01-31T10:00:00.000Z',
  ended_at: null,
};

type Webhooks = Client<'webhooks'>;
type EndpointMessage = Awaited<ReturnType<Webhooks['listEndpoints']>>['endpoints'][number];
type DeliveryMessage = Awaited<ReturnType<Webhooks['listDeliveries']>>['deliveries'][number];
type Webhook = z.output<typeof webhook>;
type Delivery = z.output<typeof delivery>;

/** Converts a webhook of its service to its public form. */
export const toWebhook = (message: EndpointMessage): Webhook => ({
  id: message.id,
  url: message.url,
  events: message.events as Webhook['events'],
  description: message.description,
  active: message.active,
  status: message.status as Webhook['status'],
  failing_since: message.failingSince || null,
  last_delivery_at: message.lastDeliveryAt || null,
  created_at: message.createdAt,
  updated_at: message.updatedAt,
});

export function toDelivery(message: DeliveryMessage): Delivery {
  const answered = message.responseStatus > 0;
  return {
    id: message.id,
    event_id: message.eventId,
    event_type: message.eventType,
    status: message.status as Delivery['status'],
    attempts: message.attempts.map(({ at, status, error, durationMs }) => ({
      at,
      status: status || null,
      error: error || null,
      duration_ms: durationMs,
    })),
    response_status: answered ? message.responseStatus : null,
    response_body: answered ? message.responseBody : null,
    next_attempt_at: message.nextAttemptAt || null,
    created_at: message.createdAt,
    ended_at: message.endedAt || null,
    redelivery_of: message.redeliveryOf || null,
  };
}
