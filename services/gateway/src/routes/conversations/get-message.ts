import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { message, messageParams, toMessage } from '../../schemas/conversation.ts';

export const getMessage = route({
  method: 'GET',
  path: '/v1/agents/{agent_id}/messages/{message_id}',
  operationId: 'getMessage',
  summary: 'View a message, or how its answer stands',
  tag: 'Conversations',
  auth: 'token',
  scope: 'agents:read',
  cost: 'read',
  extension: true,
  params: messageParams,
  response: z.strictObject({ data: message }),
  async handler({ params: { agent_id: agentId, message_id: messageId } }, { agents }) {
    const answer = await agents.getMessage({ agentId, messageId });
    return { data: toMessage(required(answer.message)) };
  },
});
