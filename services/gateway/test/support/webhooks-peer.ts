import { callers, type Implementation, services } from '@agent-service/contracts';

const at = '2026-01-31T10:00:00.000Z';

const endpoint = {
  id: 'whk_1',
  url: 'https://hooks.example.com/agent-service',
  events: ['credits.depleted'],
  description: 'Tells our chat.',
  active: true,
  status: 'failing',
  failingSince: at,
  lastDeliveryAt: '',
  createdAt: at,
  updatedAt: at,
};

const delivery = {
  id: 'dlv_1',
  eventId: 'evt_1',
  eventType: 'credits.depleted',
  status: 'pending',
  attempts: [
    { at, status: 0, error: 'timeout', durationMs: 15_000 },
    { at, status: 503, error: '', durationMs: 84 },
  ],
  responseStatus: 503,
  responseBody: 'not now',
  nextAttemptAt: at,
  createdAt: at,
  endedAt: '',
  redeliveryOf: '',
};

/** The usual responses of the webhooks service for one webhook and one delivery. */
export function usualWebhooks(): Implementation<'webhooks'> {
  const reads = { allow: callers({ scope: 'webhooks:read' }) };
  const writes = { allow: callers({ scope: 'webhooks:write' }) };
  const inside = { allow: services('webhook-dispatcher'), handle: async () => ({}) };
  const page = { total: 1, nextCursor: '' };
  return {
    createEndpoint: {
      ...writes,
      handle: async ({ url, events, secret = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD', description, active }) => ({
        endpoint: { ...endpoint, url, events, description, active, status: 'healthy', failingSince: '' },
        secret,
      }),
    },
    listEndpoints: { ...reads, handle: async () => ({ endpoints: [endpoint], page }) },
    updateEndpoint: {
      ...writes,
      handle: async ({ endpointId: id, url, events, description, active }) => ({
        endpoint: {
          ...endpoint,
          id,
          url: url ?? endpoint.url,
          events: events?.values ?? endpoint.events,
          description: description ?? endpoint.description,
          active: active ?? endpoint.active,
        },
      }),
    },
    deleteEndpoint: { ...writes, handle: async () => ({}) },
    rotateSecret: {
      ...writes,
      handle: async ({ endpointId: id, secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }) => ({
        endpoint: { ...endpoint, id },
        secret,
        previousSecretUntil: at,
      }),
    },
    testEndpoint: {
      ...writes,
      handle: async () => ({ delivery: { ...delivery, eventType: 'webhook.test' } }),
    },
    listDeliveries: {
      ...reads,
      handle: async () => ({ deliveries: [delivery], page }),
    },
    redeliver: {
      ...writes,
      handle: async ({ deliveryId }) => ({ delivery: { ...delivery, redeliveryOf: deliveryId } }),
    },
    receiveEvents: inside,
    beginDelivery: inside,
    endDelivery: inside,
    listDeadLetters: inside,
    retryDeadLetters: inside,
  };
}
