import { callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import { once, writeAudit } from '@agent-service/store';
import type { WebhooksContext } from '../context.ts';
import { deleteEndpoint as remove } from '../store/endpoints.ts';

export const deleteEndpoint = ({ store, auditRelay, now }: WebhooksContext): RpcOf<'webhooks', 'deleteEndpoint'> => ({
  allow: callers({ scope: 'webhooks:write' }),
  async handle({ endpointId }, call) {
    const { organizationId, environment } = call.tenant;
    await once(store, call, async ({ sql }) => {
      if (!(await remove(sql, { organizationId, environment }, endpointId, now()))) throw new ServiceError('not_found');
      await writeAudit(sql, call, { action: 'webhook.deleted', organizationId, environment, target: { type: 'webhook', id: endpointId } });
      return {};
    });
    auditRelay.nudge();
    return {};
  },
});
