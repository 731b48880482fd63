import { callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import { isoTime } from '@agent-service/store';
import type { ServiceDeps } from '../shared/deps.ts';
import { lastOf, limitOf } from '../shared/paging.ts';
import { tenantOf } from '../shared/tenant.ts';
import { type ConversationRow, selectConversations } from './store/conversations.ts';

/** Only the caller's own conversations. */
export const listConversations = ({ store, cursors }: ServiceDeps): RpcOf<'agents', 'listConversations'> => ({
  allow: callers({ scope: 'agents:read' }),
  async handle({ agentId, page }, call) {
    const reader = { tenant: tenantOf(call), agentId, userId: call.tenant.userId };
    const limit = limitOf(page);
    const binding = ['conversations', ...Object.values(reader.tenant), agentId, reader.userId];
    const start = cursors.decode(binding, page?.cursor ?? '');
    const list = await selectConversations(store.sql, reader, limit, start);
    if (!list) throw new ServiceError('not_found');
    const last = lastOf(list.rows, limit);
    const nextCursor = last ? cursors.encode(binding, { after: [isoTime(last.lastMessageAt), last.id] }) : '';
    return { conversations: list.rows.slice(0, limit).map(toConversation), page: { total: list.total, nextCursor } };
  },
});

const toConversation = ({ createdAt, lastMessageAt, ...row }: ConversationRow) => ({
  ...row,
  createdAt: isoTime(createdAt),
  lastMessageAt: isoTime(lastMessageAt),
});
