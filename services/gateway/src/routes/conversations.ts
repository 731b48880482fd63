import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../routing/route.ts';
import { agentParams } from '../schemas/agent.ts';
import {
  conversation,
  conversationChanges,
  conversationParams,
  listedMessage,
  messagesExample,
  titledConversation,
  toConversation,
  toFeedback,
  toListedMessage,
  toTitledConversation,
} from '../schemas/conversation.ts';
import { cursor, limit, listMeta, pageRequest, toListMeta } from '../schemas/list-query.ts';

export const listConversations = route({
  method: 'GET',
  path: '/v1/agents/{agent_id}/conversations',
  operationId: 'listConversations',
  summary: 'List the caller’s own conversations with an agent, the latest message first',
  tag: 'Conversations',
  auth: 'token',
  scope: 'agents:read',
  cost: 'read',
  params: agentParams,
  query: z.strictObject({
    limit: limit(20, 100),
    cursor,
    include: z
      .enum(['title'])
      .optional()
      .meta({ description: '`title` adds the title of each conversation. Beyond the specification.', 'x-extension': true }),
  }),
  response: z.strictObject({ data: z.array(conversation), meta: listMeta }),
  errors: ['invalid_cursor'],
  async handler({ params, query, requestId }, { agents }) {
    const { conversations, page } = await agents.listConversations({ agentId: params.agent_id, page: pageRequest(query) });
    const convert = query.include === 'title' ? toTitledConversation : toConversation;
    return { data: conversations.map(convert), meta: toListMeta(page, requestId) };
  },
});

const conversationRoute = { path: '/v1/agents/{agent_id}/conversations/{conversation_id}', tag: 'Conversations', auth: 'token' } as const;

export const getConversation = route({
  ...conversationRoute,
  method: 'GET',
  operationId: 'getConversation',
  summary: 'View a conversation of the caller’s own',
  scope: 'agents:read',
  cost: 'read',
  extension: true,
  params: conversationParams,
  response: z.strictObject({ data: titledConversation }),
  async handler({ params: { agent_id: agentId, conversation_id: conversationId } }, { agents }) {
    const response = await agents.getConversation({ agentId, conversationId });
    return { data: toTitledConversation(required(response.conversation)) };
  },
});

export const updateConversation = route({
  ...conversationRoute,
  method: 'PATCH',
  operationId: 'updateConversation',
  summary: 'Give a conversation a title',
  scope: 'agents:chat',
  cost: 'write',
  extension: true,
  params: conversationParams,
  body: conversationChanges,
  response: z.strictObject({ data: titledConversation }),
  async handler({ params: { agent_id: agentId, conversation_id: conversationId }, body: { title } }, { agents }) {
    const response = await agents.updateConversation({ agentId, conversationId, title: title ?? '' });
    return { data: toTitledConversation(required(response.conversation)) };
  },
});

export const deleteConversation = route({
  ...conversationRoute,
  method: 'DELETE',
  operationId: 'deleteConversation',
  summary: 'Delete a conversation with its messages',
  description:
    'It is gone for callers at once. The records of what its answers cost stay. While an answer is pending: 409; cancel it first.',
  scope: 'agents:chat',
  cost: 'write',
  extension: true,
  params: conversationParams,
  errors: ['conversation_busy'],
  async handler({ params: { agent_id: agentId, conversation_id: conversationId } }, { agents }) {
    await agents.deleteConversation({ agentId, conversationId });
    return undefined;
  },
});

export const listMessages = route({
  method: 'GET',
  path: '/v1/agents/{agent_id}/conversations/{conversation_id}/messages',
  operationId: 'listMessages',
  summary: 'List the messages of a conversation, newest first',
  description: 'A page has fewer messages than `limit` where they are long; `next_cursor` tells whether there are more.',
  tag: 'Conversations',
  auth: 'token',
  scope: 'agents:read',
  cost: 'read',
  extension: true,
  params: conversationParams,
  query: z.strictObject({ limit: limit(20, 100), cursor }),
  response: z.strictObject({ data: z.array(listedMessage), meta: listMeta }),
  responseExample: { data: messagesExample, meta: { total: messagesExample.length } },
  errors: ['invalid_cursor'],
  async handler({ params: { agent_id: agentId, conversation_id: conversationId }, query, requestId }, { agents }) {
    const { messages, page, feedback } = await agents.listMessages({ agentId, conversationId, page: pageRequest(query) });
    const feedbackOf = new Map(feedback.map((one) => [one.messageId, { feedback: toFeedback(one) }]));
    return { data: messages.map((one) => ({ ...toListedMessage(one), ...feedbackOf.get(one.id) })), meta: toListMeta(page, requestId) };
  },
});
