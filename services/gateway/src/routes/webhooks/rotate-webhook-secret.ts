import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { rotatedSecret, webhookParams, webhookSecret } from '../../schemas/webhook.ts';

export const rotateWebhookSecret = route({
  method: 'POST',
  path: '/v1/webhooks/{webhook_id}/rotate-secret',
  operationId: 'rotateWebhookSecret',
  summary: 'Give a webhook a new secret',
  description: 'The secret before signs along for 24 hours.',
  tag: 'Webhooks',
  auth: 'token',
  scope: 'webhooks:write',
  cost: 'write',
  extension: true,
  params: webhookParams,
  body: z.strictObject({ secret: webhookSecret.optional() }),
  response: z.strictObject({ data: rotatedSecret }),
  async handler({ params, body: { secret } }, { webhooks }) {
    const answer = await required(webhooks).rotateSecret({ endpointId: params.webhook_id, ...(secret !== undefined && { secret }) });
    const { id } = required(answer.endpoint);
    return { data: { id, secret: answer.secret, previous_secret_until: answer.previousSecretUntil } };
  },
});
