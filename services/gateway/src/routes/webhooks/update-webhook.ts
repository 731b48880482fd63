import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { toWebhook, webhook, webhookActive, webhookDescription, webhookEvents, webhookParams, webhookUrl } from '../../schemas/webhook.ts';

export const updateWebhook = route({
  method: 'PATCH',
  path: '/v1/webhooks/{webhook_id}',
  operationId: 'updateWebhook',
  summary: 'Change a webhook',
  description:
    'What is left out stays as it is. `active: true` also makes a failing or disabled webhook healthy; `active: false` drops the deliveries that wait.',
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
    const answer = await required(webhooks).updateEndpoint({
      endpointId: params.webhook_id,
      ...(url !== undefined && { url }),
      ...(events && { events: { values: events } }),
      ...(description !== undefined && { description: description ?? '' }),
      ...(active !== undefined && { active }),
    });
    return { data: toWebhook(required(answer.endpoint)) };
  },
});
