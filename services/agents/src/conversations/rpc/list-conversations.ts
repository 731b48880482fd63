import { callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import { isoTime } from '@agent-service/store';
import type { AgentsContext } from '../../context.ts';
import { tenantOf } from '../../shared/call-tenant.ts';
import { lastOf, limitOf } from '../../shared/paging.ts';
import { type ConversationRow, listConversations as selectConversations } from '../store/conversations.ts';

/** The caller's own: nobody lists what others have talked about. */
export const listConversations = ({ store, cursors }: AgentsContext): RpcOf<'agents', 'listConversations'> => ({
  allow: callers({ scope: 'agents:read' }),
  async handle({ agentId, page }, call) {
    const reader = { tenant: tenantOf(call), agentId, userId: call.tenant.userId };
    const limit = limitOf(page);
    const binding = ['conversations', ...Object.values(reader.tenant), agentId, reader.userId];
    const start = cursors.decode(binding, page?.cursor ?? '');
    const listed = await selectConversations(store.sql, reader, limit, start);
    if (!listed) throw new ServiceError('not_found');
    const last = lastOf(listed.rows, limit);
    const nextCursor = last ? cursors.encode(binding, { after: [isoTime(last.lastMessageAt), last.id] }) : '';
    return { conversations: listed.rows.slice(0, limit).map(toConversation), page: { total: listed.total, nextCursor } };
  },
});

const toConversation = ({ createdAt, lastMessageAt, ...row }: ConversationRow) => ({
  ...row,
  createdAt: isoTime(createdAt),
  lastMessageAt: isoTime(lastMessageAt),
});
