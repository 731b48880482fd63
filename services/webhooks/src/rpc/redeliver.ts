import { callers, newId, type RpcOf, ServiceError } from '@agent-service/contracts';
import { once, writeAudit } from '@agent-service/store';
import type { WebhooksContext } from '../context.ts';
import { addDelivery, findRepeatable } from '../store/deliveries.ts';
import { lockEndpoint } from '../store/endpoints.ts';
import { deliveriesKeptMs } from '../store/months.ts';
import { countDeliveries } from '../store/receive.ts';

import { toDelivery } from './messages.ts';

export const redeliver = ({ store, months, lines, auditRelay, now }: WebhooksContext): RpcOf<'webhooks', 'redeliver'> => ({
  allow: callers({ scope: 'webhooks:write' }),
  async handle({ endpointId, deliveryId }, call) {
    const { organizationId, environment } = call.tenant;
    const tenant = { organizationId, environment };
    await months.ensure(now());
    const response = await once(store, call, async ({ sql }) => {
      const at = now();
      const endpoint = await lockEndpoint(sql, tenant, endpointId);
      const known = endpoint && (await findRepeatable(sql, tenant, endpointId, deliveryId, at - deliveriesKeptMs));
      if (!endpoint || !known) throw new ServiceError('not_found');
      if (!endpoint.active) throw new ServiceError('webhook_inactive');
      const delivery = { ...tenant, id: newId('dlv'), endpointId, ...known, redeliveryOf: deliveryId, at };
      const row = await addDelivery(sql, delivery);
      await countDeliveries(sql, [delivery], at);
      const target = { type: 'webhook_delivery', id: deliveryId };
      await writeAudit(sql, call, {
        action: 'webhook.redelivered',
        ...tenant,
        target,
        changes: { webhook_id: endpointId, new_delivery_id: row.id },
      });
      return { delivery: toDelivery(row) };
    });
    auditRelay.nudge();
    lines.nudge([{ ...tenant, endpointId }]);
    return response;
  },
});
