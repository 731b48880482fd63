import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { cursor, limit, listMeta, pageRequest, toListMeta } from '../../schemas/list-query.ts';
import { delivery, toDelivery, webhookParams } from '../../schemas/webhook.ts';

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
    const { deliveries, page } = await required(webhooks).listDeliveries({ endpointId: params.webhook_id, page: pageRequest(query) });
    return { data: deliveries.map(toDelivery), meta: toListMeta(page, requestId) };
  },
});
