import { callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import { isoTime } from '@agent-service/store';
import type { WebhooksContext } from '../context.ts';
import { countDeliveriesOf, listDeliveries as selectDeliveries } from '../store/deliveries.ts';
import { toDelivery } from './messages.ts';

export const listDeliveries = ({ store, cursors, now }: WebhooksContext): RpcOf<'webhooks', 'listDeliveries'> => ({
  allow: callers({ scope: 'webhooks:read' }),
  async handle({ endpointId, page }, call) {
    const { organizationId, environment } = call.tenant;
    const tenant = { organizationId, environment };
    const limit = page?.limit || 20;
    const binding = ['webhook deliveries', organizationId, environment, endpointId];
    const start = cursors.decode(binding, page?.cursor ?? '');
    const at = now();
    const [rows, total] = await Promise.all([
      selectDeliveries(store.sql, tenant, endpointId, { after: start?.after, limit, now: at }),
      countDeliveriesOf(store.sql, tenant, endpointId, at),
    ]);
    if (total === undefined) throw new ServiceError('not_found');
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    const nextCursor = last ? cursors.encode(binding, { after: [isoTime(last.createdAt), last.id] }) : '';
    return { deliveries: rows.slice(0, limit).map(toDelivery), page: { total, nextCursor } };
  },
});
