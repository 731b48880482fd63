import { callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import { once, writeAudit } from '@agent-service/store';
import type { WebhooksContext } from '../context.ts';
import { type EndpointChanges, lockEndpoint, saveEndpoint } from '../store/endpoints.ts';
import { checkDescription, checkEvents, checkUrl } from './endpoint-input.ts';
import { toEndpoint } from './messages.ts';

type Request = Parameters<RpcOf<'webhooks', 'updateEndpoint'>['handle']>[0];

export const updateEndpoint = (context: WebhooksContext): RpcOf<'webhooks', 'updateEndpoint'> => ({
  allow: callers({ scope: 'webhooks:write' }),
  async handle(request, call) {
    const { store, auditRelay, now } = context;
    const { organizationId, environment } = call.tenant;
    const tenant = { organizationId, environment };
    const changes = await changesOf(context, request);
    const response = await once(store, call, async ({ sql }) => {
      const before = await lockEndpoint(sql, tenant, request.endpointId);
      if (!before) throw new ServiceError('not_found');
      const reset = changes.active === true;
      const voids = before.active && changes.active === false;
      const row = await saveEndpoint(sql, tenant, before.id, { ...before, ...changes }, { reset, voids, at: now() });
      await writeAudit(sql, call, { action: 'webhook.updated', ...tenant, target: { type: 'webhook', id: before.id }, changes });
      return { endpoint: toEndpoint(row) };
    });
    auditRelay.nudge();
    return response;
  },
});

async function changesOf(context: WebhooksContext, { url, events, description, active }: Request): Promise<Partial<EndpointChanges>> {
  return {
    ...(url !== undefined && { url: await checkUrl(context, url) }),
    ...(events && { events: checkEvents(events.values) }),
    ...(description !== undefined && { description: checkDescription(description) }),
    ...(active !== undefined && { active }),
  };
}
