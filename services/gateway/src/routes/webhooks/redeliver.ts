import { z } from 'zod';
import { delivery, deliveryParams } from '../../schemas/webhook.ts';
import { toDelivery } from '../../schemas/webhook-messages.ts';
import { present } from '../present.ts';
import { route } from '../route.ts';

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
  errors: ['webhook_inactive'],
  async handler({ params }, { webhooks }) {
    const answer = await present(webhooks).redeliver({ endpointId: params.webhook_id, deliveryId: params.delivery_id });
    return { data: toDelivery(present(answer.delivery)) };
  },
});
