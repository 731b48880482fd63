import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../routing/route.ts';
import { cursor, limit, listMeta, pageRequest, toListMeta } from '../schemas/list-query.ts';
import {
  createdWebhook,
  delivery,
  deliveryParams,
  pendingDeliveryExample,
  rotatedSecret,
  toDelivery,
  toWebhook,
  webhook,
  webhookActive,
  webhookDescription,
  webhookEvents,
  webhookParams,
  webhookSecret,
  webhookUrl,
} from '../schemas/webhook.ts';

export const createWebhook = route({
  method: 'POST',
  path: '/v1/webhooks',
  operationId: 'createWebhook',
  summary: 'Create a webhook',
  tag: 'Webhooks',
  auth: 'token',
  scope: 'webhooks:write',
  cost: 'write',
  body: z.strictObject({
    url: webhookUrl,
    events: webhookEvents,
    secret: webhookSecret.optional(),
    description: webhookDescription.default(''),
    active: webhookActive.default(true),
  }),
  status: 201,
  response: z.strictObject({ data: createdWebhook }),
  errors: ['webhook_limit_reached'],
  async handler({ body: { secret, ...body } }, { webhooks }) {
    const created = await required(webhooks).createEndpoint({ ...body, ...(secret !== undefined && { secret }) });
    const { id, url, events, active, created_at } = toWebhook(required(created.endpoint));
    return { data: { id, url, events, secret: created.secret, active, created_at } };
  },
});

export const deleteWebhook = route({
  method: 'DELETE',
  path: '/v1/webhooks/{webhook_id}',
  operationId: 'deleteWebhook',
  summary: 'Delete a webhook',
  description: 'Deliveries that wait for it are dropped.',
  tag: 'Webhooks',
  auth: 'token',
  scope: 'webhooks:write',
  cost: 'write',
  params: webhookParams,
  async handler({ params }, { webhooks }) {
    await required(webhooks).deleteEndpoint({ endpointId: params.webhook_id });
    return undefined;
  },
});

export const listDeliveries = route({
  method: 'GET',
  path: '/v1/webhooks/{webhook_id}/deliveries',
  operationId: 'listWebhookDeliveries',
  summary: 'List the deliveries of a webhook, newest first',
  description: 'Deliveries are kept for at least 30 days.',
  tag: 'Webhooks',
  auth: 'token',
  scope: 'webhooks:read',
  cost: 'read',
  extension: true,
  params: webhookParams,
  query: z.strictObject({ limit: limit(20, 100), cursor }),
  response: z.strictObject({ data: z.array(delivery), meta: listMeta }),
  errors: ['invalid_cursor'],
  async handler({ params, query, requestId }, { webhooks }) {
    const { deliveries, page } = await required(webhooks).listDeliveries({ endpointId: params.webhook_id, page: pageRequest(query) });
    return { data: deliveries.map(toDelivery), meta: toListMeta(page, requestId) };
  },
});

export const listWebhooks = route({
  method: 'GET',
  path: '/v1/webhooks',
  operationId: 'listWebhooks',
  summary: 'List the webhooks, newest first',
  tag: 'Webhooks',
  auth: 'token',
  scope: 'webhooks:read',
  cost: 'read',
  query: z.strictObject({ limit: limit(20, 100), cursor }),
  response: z.strictObject({ data: z.array(webhook), meta: listMeta }),
  errors: ['invalid_cursor'],
  async handler({ query, requestId }, { webhooks }) {
    const { endpoints, page } = await required(webhooks).listEndpoints({ page: pageRequest(query) });
    return { data: endpoints.map(toWebhook), meta: toListMeta(page, requestId) };
  },
});

export const redeliver = route({
  method: 'POST',
  path: '/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver',
  operationId: 'redeliverWebhookDelivery',
  summary: 'Send the event of a delivery again',
  description: 'The event keeps its id, so that a receiver knows it. Answers with the new delivery.',
  tag: 'Webhooks',
  auth: 'token',
  scope: 'webhooks:write',
  cost: 'write',
  extension: true,
  params: deliveryParams,
  response: z.strictObject({ data: delivery }),
  responseExample: {
    data: { ...pendingDeliveryExample, id: 'dlv_01jz0000000000000000000001', redelivery_of: 'dlv_01jz0000000000000000000000' },
  },
  errors: ['webhook_inactive'],
  async handler({ params }, { webhooks }) {
    const response = await required(webhooks).redeliver({ endpointId: params.webhook_id, deliveryId: params.delivery_id });
    return { data: toDelivery(required(response.delivery)) };
  },
});

export const rotateWebhookSecret = route({
  method: 'POST',
  path: '/v1/webhooks/{webhook_id}/rotate-secret',
  operationId: 'rotateWebhookSecret',
  summary: 'Give a webhook a new secret',
  description:
    'The secret before signs along for 24 hours in `webhook-signature`; another rotation in this time ends the older secret at once. `X-Service-Signature` is made with the new secret alone: let a receiver that verifies only this header accept both secrets first, and name the new one in `secret`.',
  tag: 'Webhooks',
  auth: 'token',
  scope: 'webhooks:write',
  cost: 'write',
  extension: true,
  params: webhookParams,
  body: z.strictObject({ secret: webhookSecret.optional() }),
  bodyOptional: true,
  response: z.strictObject({ data: rotatedSecret }),
  async handler({ params, body: { secret } }, { webhooks }) {
    const response = await required(webhooks).rotateSecret({ endpointId: params.webhook_id, ...(secret !== undefined && { secret }) });
    const { id } = required(response.endpoint);
    return { data: { id, secret: response.secret, previous_secret_until: response.previousSecretUntil } };
  },
});

export const testWebhook = route({
  method: 'POST',
  path: '/v1/webhooks/{webhook_id}/test',
  operationId: 'testWebhook',
  summary: 'Send a webhook an event to try it',
  description: 'The event has the type `webhook.test` and is sent once. Its outcome is in the list of deliveries.',
  tag: 'Webhooks',
  auth: 'token',
  scope: 'webhooks:write',
  cost: 'write',
  extension: true,
  params: webhookParams,
  response: z.strictObject({ data: delivery }),
  responseExample: { data: { ...pendingDeliveryExample, event_type: 'webhook.test' } },
  errors: ['webhook_inactive'],
  async handler({ params }, { webhooks }) {
    const response = await required(webhooks).testEndpoint({ endpointId: params.webhook_id });
    return { data: toDelivery(required(response.delivery)) };
  },
});

export const updateWebhook = route({
  method: 'PATCH',
  path: '/v1/webhooks/{webhook_id}',
  operationId: 'updateWebhook',
  summary: 'Change a webhook',
  description:
    'Omitted fields stay as they are. `active: true` also makes a failing or disabled webhook healthy; `active: false` drops the deliveries that wait.',
  tag: 'Webhooks',
  auth: 'token',
  scope: 'webhooks:write',
  cost: 'write',
  params: webhookParams,
  body: z.strictObject({
    url: webhookUrl.optional(),
    events: webhookEvents.optional(),
    description: webhookDescription.nullable().optional(),
    active: webhookActive.optional(),
  }),
  response: z.strictObject({ data: webhook }),
  async handler({ params, body: { url, events, description, active } }, { webhooks }) {
    const response = await required(webhooks).updateEndpoint({
      endpointId: params.webhook_id,
      ...(url !== undefined && { url }),
      ...(events && { events: { values: events } }),
      ...(description !== undefined && { description: description ?? '' }),
      ...(active !== undefined && { active }),
    });
    return { data: toWebhook(required(response.endpoint)) };
  },
});
