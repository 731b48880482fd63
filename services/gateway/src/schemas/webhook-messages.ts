import type { Client } from '@agent-service/contracts';
import type { z } from 'zod';
import type { delivery, webhook } from './webhook.ts';

type Webhooks = Client<'webhooks'>;
type EndpointMessage = Awaited<ReturnType<Webhooks['listEndpoints']>>['endpoints'][number];
type DeliveryMessage = Awaited<ReturnType<Webhooks['listDeliveries']>>['deliveries'][number];
type Webhook = z.output<typeof webhook>;
type Delivery = z.output<typeof delivery>;

/** A webhook as its service returns it, as callers see it. */
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
