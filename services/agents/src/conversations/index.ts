import { type AnswerMessage, callers, type RpcOf, requirePrincipal, ServiceError, tenantOf } from '@agent-service/contracts';
import type { ProcessContext } from '@agent-service/runtime';
import { isoTime, lastOf, limitOf, startSweep } from '@agent-service/store';
import type { ServiceDeps } from '../shared/deps.ts';
import { deleteConversation, setFeedback, toConversation, toFeedback, updateConversation } from './changes.ts';
import { conversationStatements, findConversation, selectConversations } from './store/conversations.ts';
import { feedbackStatements, findFeedback } from './store/feedback.ts';
import { findMessage, type MessageRow, messageStatements, selectMessages } from './store/messages.ts';
import { removalStatements, removeDeletedConversation } from './store/removal.ts';

export { ConversationCountEntity, ConversationEntity } from './store/conversations.ts';
export { MessageFeedbackEntity } from './store/feedback.ts';
export { findMessage, MessageEntity } from './store/messages.ts';
export { maxMessagesPerStep, removeConversations, shortenConversation } from './store/removal.ts';

export const conversationsStatements = { ...messageStatements, ...conversationStatements, ...feedbackStatements, ...removalStatements };

export const startConversationSweep = (process: ProcessContext, { store }: Pick<ServiceDeps, 'store'>): void =>
  startSweep(process, 'deleted conversations', 1_000, () => removeDeletedConversation(store, process.logger), 4_000);

export const conversationMethods = (deps: ServiceDeps) => ({
  deleteConversation: deleteConversation(deps),
  getConversation: getConversation(deps),
  getMessage: getMessage(deps),
  listConversations: listConversations(deps),
  listMessages: listMessages(deps),
  setFeedback: setFeedback(deps),
  updateConversation: updateConversation(deps),
});

/** Only the caller's own conversations. */
const listConversations = ({ store, cursors }: ServiceDeps): RpcOf<'agents', 'listConversations'> => ({
  allow: callers({ scope: 'agents:read' }),
  async handle({ agentId, page }, call) {
    const reader = { tenant: tenantOf(call), agentId, userId: requirePrincipal(call).userId };
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

const getConversation = ({ store }: ServiceDeps): RpcOf<'agents', 'getConversation'> => ({
  allow: callers({ scope: 'agents:read' }),
  async handle({ agentId, conversationId }, call) {
    const reader = { tenant: tenantOf(call), agentId, userId: requirePrincipal(call).userId };
    const row = await findConversation(store.sql, reader, conversationId);
    if (!row) throw new ServiceError('not_found');
    return { conversation: toConversation(row) };
  },
});

const getMessage = ({ store }: ServiceDeps): RpcOf<'agents', 'getMessage'> => ({
  allow: callers({ scope: 'agents:read' }),
  async handle({ agentId, messageId }, call) {
    const row = await findMessage(store.sql, { tenant: tenantOf(call), agentId, userId: requirePrincipal(call).userId }, messageId);
    if (!row) throw new ServiceError('not_found');
    const [feedback] = await findFeedback(store.sql, tenantOf(call), row.role === 'assistant' ? [row.id] : []);
    return { message: toMessage(row), ...(feedback && { feedback: toFeedback(feedback) }) };
  },
});

const listMessages = ({ store, cursors }: ServiceDeps): RpcOf<'agents', 'listMessages'> => ({
  allow: callers({ scope: 'agents:read' }),
  async handle({ agentId, conversationId, page }, call) {
    const reader = { tenant: tenantOf(call), agentId, userId: requirePrincipal(call).userId };
    const limit = limitOf(page);
    const binding = ['messages', ...Object.values(reader.tenant), agentId, reader.userId, conversationId];
    const start = cursors.decode(binding, page?.cursor ?? '');
    const list = await selectMessages(store.sql, reader, conversationId, limit, start);
    if (!list) throw new ServiceError('not_found');
    const { rows, total, hasMore } = list;
    const last = hasMore ? rows.at(-1) : undefined;
    const nextCursor = last ? cursors.encode(binding, { after: [isoTime(last.createdAt), last.id] }) : '';
    const feedback = await findFeedback(
      store.sql,
      reader.tenant,
      rows.map(({ id }) => id),
    );
    return { messages: rows.map(toMessage), page: { total, nextCursor }, feedback: feedback.map(toFeedback) };
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
