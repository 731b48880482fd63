import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { agentParams } from '../../schemas/agent.ts';
import { conversation, toConversation } from '../../schemas/conversation.ts';
import { cursor, limit, listMeta, pageRequest, toListMeta } from '../../schemas/list-query.ts';

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
  query: z.strictObject({ limit: limit(20, 100), cursor }),
  response: z.strictObject({ data: z.array(conversation), meta: listMeta }),
  errors: ['invalid_cursor'],
  async handler({ params, query, requestId }, { agents }) {
    const { conversations, page } = await agents.listConversations({ agentId: params.agent_id, page: pageRequest(query) });
    return { data: conversations.map(toConversation), meta: toListMeta(page, requestId) };
  },
});
