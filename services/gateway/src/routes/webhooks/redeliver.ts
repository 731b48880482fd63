import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { delivery, deliveryParams, toDelivery } from '../../schemas/webhook.ts';

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
    const answer = await required(webhooks).redeliver({ endpointId: params.webhook_id, deliveryId: params.delivery_id });
    return { data: toDelivery(required(answer.delivery)) };
  },
});
