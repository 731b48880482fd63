import { callers, type RpcOf, requirePrincipal, ServiceError, tenantOf } from '@agent-service/contracts';
import { isoTime, once, writeAudit } from '@agent-service/store';
import type { ServiceDeps } from '../shared/deps.ts';
import { type ConversationRow, markConversationDeleted, renameConversation } from './store/conversations.ts';
import { type FeedbackRow, replaceFeedback } from './store/feedback.ts';
import { findMessage } from './store/messages.ts';

const maxTitleLength = 200;
const maxCommentLength = 2_000;

export const updateConversation = ({ store }: ServiceDeps): RpcOf<'agents', 'updateConversation'> => ({
  allow: callers({ scope: 'agents:chat' }),
  async handle({ agentId, conversationId, title }, call) {
    const reader = { tenant: tenantOf(call), agentId, userId: requirePrincipal(call).userId };
    checkText(title, maxTitleLength, 'title');
    return once(store, call, async ({ sql }) => ({
      conversation: toConversation(requireFound(await renameConversation(sql, reader, conversationId, title))),
    }));
  },
});

/** The usage records of its answers stay. */
export const deleteConversation = ({ store, auditRelay }: ServiceDeps): RpcOf<'agents', 'deleteConversation'> => ({
  allow: callers({ scope: 'agents:chat' }),
  async handle({ agentId, conversationId }, call) {
    const tenant = tenantOf(call);
    await once(store, call, async ({ sql }) => {
      const outcome = await markConversationDeleted(sql, { tenant, agentId, userId: requirePrincipal(call).userId }, conversationId);
      if (outcome === 'unknown') throw new ServiceError('not_found');
      if (outcome === 'busy') throw new ServiceError('conversation_busy');
      const target = { type: 'conversation', id: conversationId };
      await writeAudit(sql, call, { action: 'conversation.deleted', ...tenant, target, changes: { agent_id: agentId } });
      return {};
    });
    auditRelay.nudge();
    return {};
  },
});

const notAnAnswer = 'Only an answer takes feedback: this message was written by a user.';
const notEnded = 'The answer has not ended yet. Wait for it before you give feedback.';

export const setFeedback = ({ store }: ServiceDeps): RpcOf<'agents', 'setFeedback'> => ({
  allow: callers({ scope: 'agents:chat' }),
  async handle({ agentId, messageId, score, comment }, call) {
    const tenant = tenantOf(call);
    const { userId } = requirePrincipal(call);
    if (score < 1 || score > 5) throw new ServiceError('invalid_request', { message: 'The score must be 1 to 5.', param: 'score' });
    checkText(comment, maxCommentLength, 'comment');
    return once(store, call, async ({ sql }) => {
      const { role, status, conversationId } = requireFound(await findMessage(sql, { tenant, agentId, userId }, messageId));
      if (role !== 'assistant') throw new ServiceError('invalid_request', { message: notAnAnswer, param: 'message_id' });
      if (status === 'queued' || status === 'running') throw new ServiceError('conversation_busy', { message: notEnded });
      return {
        feedback: toFeedback(requireFound(await replaceFeedback(sql, tenant, { messageId, conversationId, userId, score, comment }))),
      };
    });
  },
});

function requireFound<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new ServiceError('not_found');
  return row;
}

function checkText(value: string, max: number, param: string): void {
  if ([...value].length <= max && !value.includes('\0')) return;
  throw new ServiceError('invalid_request', { message: `${param} must have at most ${max} characters and no NUL.`, param });
}

/** A conversation as the contract carries it. */
export const toConversation = ({ createdAt, lastMessageAt, ...row }: ConversationRow) => ({
  ...row,
  createdAt: isoTime(createdAt),
  lastMessageAt: isoTime(lastMessageAt),
});

export const toFeedback = ({ updatedAt, ...row }: FeedbackRow) => ({ ...row, updatedAt: isoTime(updatedAt) });
