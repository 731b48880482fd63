import { callers, type RpcOf } from '@agent-service/contracts';
import { isoTime } from '@agent-service/store';
import type { WebhooksContext } from '../context.ts';
import { countEndpoints, listEndpoints as selectEndpoints } from '../store/endpoints.ts';
import { toEndpoint } from './messages.ts';

export const listEndpoints = ({ store, cursors }: WebhooksContext): RpcOf<'webhooks', 'listEndpoints'> => ({
  allow: callers({ scope: 'webhooks:read' }),
  async handle({ page }, call) {
    const { organizationId, environment } = call.tenant;
    const limit = page?.limit || 20;
    const binding = ['webhooks', organizationId, environment];
    const start = cursors.decode(binding, page?.cursor ?? '');
    const [rows, total] = await Promise.all([
      selectEndpoints(store.sql, { organizationId, environment }, start?.after, limit),
      countEndpoints(store.sql, { organizationId, environment }),
    ]);
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    const nextCursor = last ? cursors.encode(binding, { after: [isoTime(last.createdAt), last.id] }) : '';
    return { endpoints: rows.slice(0, limit).map(toEndpoint), page: { total, nextCursor } };
  },
});
