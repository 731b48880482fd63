import { z } from 'zod';
import { cursor, limit, listMeta, pageRequest, toListMeta } from '../../schemas/paging.ts';
import { delivery, webhookParams } from '../../schemas/webhook.ts';
import { toDelivery } from '../../schemas/webhook-messages.ts';
import { present } from '../present.ts';
import { route } from '../route.ts';

export const listDeliveries = route({
  method: 'GET',
  path: '/v1/webhooks/{webhook_id}/deliveries',
  operationId: 'listWebhookDeliveries',
  summary: 'List the deliveries of a webhook, newest first',
  description: 'Deliveries are kept for 30 days.',
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
    const { deliveries, page } = await present(webhooks).listDeliveries({ endpointId: params.webhook_id, page: pageRequest(query) });
    return { data: deliveries.map(toDelivery), meta: toListMeta(page, requestId) };
  },
});
