import { callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import { isoTime } from '@agent-service/store';
import type { AgentsContext } from '../../context.ts';
import { tenantOf } from '../../shared/call-tenant.ts';
import { lastOf, limitOf } from '../../shared/paging.ts';
import { listMessages as selectMessages } from '../store/messages.ts';
import { toMessage } from './message.ts';

export const listMessages = ({ store, cursors }: AgentsContext): RpcOf<'agents', 'listMessages'> => ({
  allow: callers({ scope: 'agents:read' }),
  async handle({ agentId, conversationId, page }, call) {
    const reader = { tenant: tenantOf(call), agentId, userId: call.tenant.userId };
    const limit = limitOf(page);
    const binding = ['messages', ...Object.values(reader.tenant), agentId, reader.userId, conversationId];
    const start = cursors.decode(binding, page?.cursor ?? '');
    const listed = await selectMessages(store.sql, reader, conversationId, limit, start);
    if (!listed) throw new ServiceError('not_found');
    const last = lastOf(listed.rows, limit);
    const nextCursor = last ? cursors.encode(binding, { after: [isoTime(last.createdAt), last.id] }) : '';
    return { messages: listed.rows.slice(0, limit).map(toMessage), page: { total: listed.total, nextCursor } };
  },
});
