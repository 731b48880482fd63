import { z } from 'zod';
import { delivery, webhookParams } from '../../schemas/webhook.ts';
import { toDelivery } from '../../schemas/webhook-messages.ts';
import { present } from '../present.ts';
import { route } from '../route.ts';

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
    const answer = await present(webhooks).testEndpoint({ endpointId: params.webhook_id });
    return { data: toDelivery(present(answer.delivery)) };
  },
});
