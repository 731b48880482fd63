import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { cursor, limit, listMeta, pageRequest, toListMeta } from '../../schemas/list-query.ts';
import { toWebhook, webhook } from '../../schemas/webhook.ts';

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
