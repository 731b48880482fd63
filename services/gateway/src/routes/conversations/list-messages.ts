import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { conversationParams, message, toMessage } from '../../schemas/conversation.ts';
import { cursor, limit, listMeta, pageRequest, toListMeta } from '../../schemas/list-query.ts';

export const listMessages = route({
  method: 'GET',
  path: '/v1/agents/{agent_id}/conversations/{conversation_id}/messages',
  operationId: 'listMessages',
  summary: 'List the messages of a conversation, newest first',
  tag: 'Conversations',
  auth: 'token',
  scope: 'agents:read',
  cost: 'read',
  extension: true,
  params: conversationParams,
  query: z.strictObject({ limit: limit(20, 100), cursor }),
  response: z.strictObject({ data: z.array(message), meta: listMeta }),
  errors: ['invalid_cursor'],
  async handler({ params: { agent_id: agentId, conversation_id: conversationId }, query, requestId }, { agents }) {
    const { messages, page } = await agents.listMessages({ agentId, conversationId, page: pageRequest(query) });
    return { data: messages.map(toMessage), meta: toListMeta(page, requestId) };
  },
});
