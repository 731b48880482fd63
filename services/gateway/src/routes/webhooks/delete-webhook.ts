import { required } from '@agent-service/contracts';
import { route } from '../../routing/route.ts';
import { webhookParams } from '../../schemas/webhook.ts';

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
