import { callers, newId, type RpcOf, ServiceError } from '@agent-service/contracts';
import { once, writeAudit } from '@agent-service/store';
import type { WebhooksContext } from '../context.ts';
import { makeSecret } from '../domain/secret.ts';
import { addEndpoint, lockAndCountEndpoints } from '../store/endpoints.ts';
import { checkDescription, checkEvents, checkSecret, checkUrl } from './endpoint-input.ts';
import { toEndpoint } from './messages.ts';
import { openSecret, sealSecret } from './sealed-secrets.ts';

const endpointsAtMost = 100;

export const createEndpoint = (context: WebhooksContext): RpcOf<'webhooks', 'createEndpoint'> => ({
  allow: callers({ scope: 'webhooks:write' }),
  async handle(request, call) {
    const { store, cipher, auditRelay, now } = context;
    const { organizationId, environment } = call.tenant;
    const tenant = { organizationId, environment };
    const id = newId('whk');
    const endpoint = {
      url: await checkUrl(context, request.url),
      events: checkEvents(request.events),
      description: checkDescription(request.description),
      active: request.active,
    };
    const secret = request.secret === undefined ? makeSecret() : checkSecret(request.secret);
    const sealedSecret = sealSecret(cipher, tenant, id, secret);
    // What an Idempotency-Key keeps of the answer is sealed, and opened for each repeat.
    const kept = await once(store, call, async ({ sql }) => {
      if ((await lockAndCountEndpoints(sql, tenant)) >= endpointsAtMost) throw new ServiceError('webhook_limit_reached');
      const row = await addEndpoint(sql, { ...tenant, id, ...endpoint, sealedSecret, at: now() });
      await writeAudit(sql, call, { action: 'webhook.created', ...tenant, target: { type: 'webhook', id }, changes: endpoint });
      return { endpoint: toEndpoint(row), sealedSecret };
    });
    auditRelay.nudge();
    return { endpoint: kept.endpoint, secret: openSecret(cipher, tenant, kept.endpoint.id, kept.sealedSecret) };
  },
});
