import { type AnswerMessage, callers, type RpcOf, ServiceError, tenantOf } from '@agent-service/contracts';
import { isoTime, lastOf, limitOf } from '@agent-service/store';
import type { ServiceDeps } from '../shared/deps.ts';
import { type ConversationRow, selectConversations } from './store/conversations.ts';
import { findMessage, type MessageRow, selectMessages } from './store/messages.ts';

export { ConversationCountEntity, ConversationEntity, MessageEntity } from './store/conversations.ts';
export { messageStatements } from './store/messages.ts';

export const conversationMethods = (deps: ServiceDeps) => ({
  getMessage: getMessage(deps),
  listConversations: listConversations(deps),
  listMessages: listMessages(deps),
});

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

export const getMessage = ({ store }: ServiceDeps): RpcOf<'agents', 'getMessage'> => ({
  allow: callers({ scope: 'agents:read' }),
  async handle({ agentId, messageId }, call) {
    const row = await findMessage(store.sql, { tenant: tenantOf(call), agentId, userId: call.tenant.userId }, messageId);
    if (!row) throw new ServiceError('not_found');
    return { message: toMessage(row) };
  },
});

export const listMessages = ({ store, cursors }: ServiceDeps): RpcOf<'agents', 'listMessages'> => ({
  allow: callers({ scope: 'agents:read' }),
  async handle({ agentId, conversationId, page }, call) {
    const reader = { tenant: tenantOf(call), agentId, userId: call.tenant.userId };
    const limit = limitOf(page);
    const binding = ['messages', ...Object.values(reader.tenant), agentId, reader.userId, conversationId];
    const start = cursors.decode(binding, page?.cursor ?? '');
    const list = await selectMessages(store.sql, reader, conversationId, limit, start);
    if (!list) throw new ServiceError('not_found');
    const last = lastOf(list.rows, limit);
    const nextCursor = last ? cursors.encode(binding, { after: [isoTime(last.createdAt), last.id] }) : '';
    return { messages: list.rows.slice(0, limit).map(toMessage), page: { total: list.total, nextCursor } };
  },
});

/** A message of either side, as callers read it. */
const toMessage = ({ credits, tier, failureCode, failureMessage, queries, record, createdAt, ...row }: MessageRow): AnswerMessage => ({
  ...row,
  contentType: row.role === 'user' ? 'text' : row.contentType,
  creditsConsumed: credits,
  modelUsed: tier,
  createdAt: isoTime(createdAt),
  failure: failureCode === '' ? null : { code: failureCode, message: failureMessage },
  queries: queries ?? [],
  record: record && { ...record, steps: record.steps ?? [] },
});
