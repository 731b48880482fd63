import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../../routing/route.ts';
import {
  createdWebhook,
  toWebhook,
  webhookActive,
  webhookDescription,
  webhookEvents,
  webhookSecret,
  webhookUrl,
} from '../../schemas/webhook.ts';

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
