import { callers, newId, type RpcOf, ServiceError } from '@agent-service/contracts';
import { once } from '@agent-service/store';
import type { WebhooksContext } from '../context.ts';
import { bodyOf, testEventType } from '../domain/event.ts';
import { addDelivery, addTestEvent } from '../store/deliveries.ts';
import { lockEndpoint } from '../store/endpoints.ts';
import { countDeliveries } from '../store/receive.ts';
import { toTimestamp } from '../store/time.ts';
import { toDelivery } from './messages.ts';

export const testEndpoint = ({ store, months, lines, now }: WebhooksContext): RpcOf<'webhooks', 'testEndpoint'> => ({
  allow: callers({ scope: 'webhooks:write' }),
  async handle({ endpointId }, call) {
    const { organizationId, environment } = call.tenant;
    const tenant = { organizationId, environment };
    await months.ensure(now());
    const response = await once(store, call, async ({ sql }) => {
      const endpoint = await lockEndpoint(sql, tenant, endpointId);
      if (!endpoint) throw new ServiceError('not_found');
      if (!endpoint.active) throw new ServiceError('webhook_inactive');
      const at = now();
      const event = { id: newId('evt'), type: testEventType, createdAt: toTimestamp(at) };
      const data = { organization_id: organizationId, webhook_id: endpointId };
      await addTestEvent(sql, tenant, { ...event, body: bodyOf({ ...event, data }), at });
      const delivery = {
        ...tenant,
        id: newId('dlv'),
        endpointId,
        eventId: event.id,
        eventType: event.type,
        redeliveryOf: null,
        test: true,
        at,
      };
      const row = await addDelivery(sql, delivery);
      await countDeliveries(sql, [delivery], at);
      return { delivery: toDelivery(row) };
    });
    lines.nudge([{ ...tenant, endpointId }]);
    return response;
  },
});
