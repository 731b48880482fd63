import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { delivery, toDelivery, webhookParams } from '../../schemas/webhook.ts';

export const testWebhook = route({
  method: 'POST',
  path: '/v1/webhooks/{webhook_id}/test',
  operationId: 'testWebhook',
  summary: 'Send a webhook an event to try it',
  description: 'The event has the type `webhook.test` and is sent once. What came of it is in the list of deliveries.',
  tag: 'Webhooks',
  auth: 'token',
  scope: 'webhooks:write',
  cost: 'write',
  extension: true,
  params: webhookParams,
  response: z.strictObject({ data: delivery }),
  errors: ['webhook_inactive'],
  async handler({ params }, { webhooks }) {
    const answer = await required(webhooks).testEndpoint({ endpointId: params.webhook_id });
    return { data: toDelivery(required(answer.delivery)) };
  },
});
