import { type AnswerMessage, type Call, callers, checkText, type RpcOf, requirePrincipal, ServiceError } from '@agent-service/contracts';
import { isoTime, lastOf, limitOf, once, writeAudit } from '@agent-service/store';
import type { ServiceDeps } from '../shared/deps.ts';
import {
  type ConversationRow,
  findConversation,
  markConversationDeleted,
  renameConversation,
  selectConversations,
} from './store/conversations.ts';
import { type FeedbackRow, findFeedback, replaceFeedback } from './store/feedback.ts';
import { findMessage, type MessageRow, type Reader, selectMessages } from './store/messages.ts';

/** The caller of a call, who reads only conversations of its own with the agent. */
function readerOf(call: Call, agentId: string): Reader {
  const { organizationId, environment, userId } = requirePrincipal(call);
  return { tenant: { organizationId, environment }, agentId, userId };
}

const listConversations = ({ store, cursors }: ServiceDeps): RpcOf<'agents', 'listConversations'> => ({
  allow: callers({ scope: 'agents:read' }),
  async handle({ agentId, page }, call) {
    const reader = readerOf(call, agentId);
    const limit = limitOf(page);
    const binding = ['conversations', ...Object.values(reader.tenant), agentId, reader.userId];
    const start = cursors.decode(binding, page?.cursor ?? '');
    const { rows, total } = requireFound(await selectConversations(store.sql, reader, limit, start));
    const last = lastOf(rows, limit);
    const nextCursor = last ? cursors.encode(binding, { after: [isoTime(last.lastMessageAt), last.id] }) : '';
    return { conversations: rows.slice(0, limit).map(toConversation), page: { total, nextCursor } };
  },
});

const getConversation = ({ store }: ServiceDeps): RpcOf<'agents', 'getConversation'> => ({
  allow: callers({ scope: 'agents:read' }),
  async handle({ agentId, conversationId }, call) {
    return { conversation: toConversation(requireFound(await findConversation(store.sql, readerOf(call, agentId), conversationId))) };
  },
});

const getMessage = ({ store }: ServiceDeps): RpcOf<'agents', 'getMessage'> => ({
  allow: callers({ scope: 'agents:read' }),
  async handle({ agentId, messageId }, call) {
    const reader = readerOf(call, agentId);
    const row = requireFound(await findMessage(store.sql, reader, messageId));
    const [feedback] = await findFeedback(store.sql, reader.tenant, row.role === 'assistant' ? [row.id] : []);
    return { message: toMessage(row), ...(feedback && { feedback: toFeedback(feedback) }) };
  },
});

const listMessages = ({ store, cursors }: ServiceDeps): RpcOf<'agents', 'listMessages'> => ({
  allow: callers({ scope: 'agents:read' }),
  async handle({ agentId, conversationId, page }, call) {
    const reader = readerOf(call, agentId);
    const limit = limitOf(page);
    const binding = ['messages', ...Object.values(reader.tenant), agentId, reader.userId, conversationId];
    const start = cursors.decode(binding, page?.cursor ?? '');
    const { rows, total, hasMore } = requireFound(await selectMessages(store.sql, reader, conversationId, limit, start));
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

const maxTitleLength = 200;
const maxCommentLength = 2_000;

const updateConversation = ({ store }: ServiceDeps): RpcOf<'agents', 'updateConversation'> => ({
  allow: callers({ scope: 'agents:chat' }),
  async handle({ agentId, conversationId, title }, call) {
    const reader = readerOf(call, agentId);
    checkText(title, 'title', { max: maxTitleLength });
    return once(store, call, async ({ sql }) => ({
      conversation: toConversation(requireFound(await renameConversation(sql, reader, conversationId, title))),
    }));
  },
});

/** The usage records of its answers stay. */
const deleteConversation = ({ store, auditRelay }: ServiceDeps): RpcOf<'agents', 'deleteConversation'> => ({
  allow: callers({ scope: 'agents:chat' }),
  async handle({ agentId, conversationId }, call) {
    const reader = readerOf(call, agentId);
    await once(store, call, async ({ sql }) => {
      const outcome = await markConversationDeleted(sql, reader, conversationId);
      if (outcome === 'unknown') throw new ServiceError('not_found');
      if (outcome === 'busy') throw new ServiceError('conversation_busy');
      const target = { type: 'conversation', id: conversationId };
      await writeAudit(sql, call, { action: 'conversation.deleted', ...reader.tenant, target, changes: { agent_id: agentId } });
      return {};
    });
    auditRelay.nudge();
    return {};
  },
});

const notAnAnswer = 'Only an answer takes feedback: this message was written by a user.';
const notEnded = 'The answer has not ended yet. Wait for it before you give feedback.';

const setFeedback = ({ store }: ServiceDeps): RpcOf<'agents', 'setFeedback'> => ({
  allow: callers({ scope: 'agents:chat' }),
  async handle({ agentId, messageId, score, comment }, call) {
    const reader = readerOf(call, agentId);
    if (score < 1 || score > 5) throw new ServiceError('invalid_request', { message: 'The score must be 1 to 5.', param: 'score' });
    checkText(comment, 'comment', { max: maxCommentLength });
    return once(store, call, async ({ sql }) => {
      const { role, status, conversationId } = requireFound(await findMessage(sql, reader, messageId));
      if (role !== 'assistant') throw new ServiceError('invalid_request', { message: notAnAnswer, param: 'message_id' });
      if (status === 'queued' || status === 'running') throw new ServiceError('conversation_busy', { message: notEnded });
      const feedback = { messageId, conversationId, userId: reader.userId, score, comment };
      return { feedback: toFeedback(requireFound(await replaceFeedback(sql, reader.tenant, feedback))) };
    });
  },
});

function requireFound<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new ServiceError('not_found');
  return row;
}

/** A conversation as the contract carries it. */
const toConversation = ({ createdAt, lastMessageAt, ...row }: ConversationRow) => ({
  ...row,
  createdAt: isoTime(createdAt),
  lastMessageAt: isoTime(lastMessageAt),
});

const toFeedback = ({ updatedAt, ...row }: FeedbackRow) => ({ ...row, updatedAt: isoTime(updatedAt) });

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

export const conversationMethods = (deps: ServiceDeps) => ({
  deleteConversation: deleteConversation(deps),
  getConversation: getConversation(deps),
  getMessage: getMessage(deps),
  listConversations: listConversations(deps),
  listMessages: listMessages(deps),
  setFeedback: setFeedback(deps),
  updateConversation: updateConversation(deps),
});
