import { z } from 'zod';
import { message, messageParams, toMessage } from '../schemas/message.ts';
import { present } from './present.ts';
import { route } from './route.ts';

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
    return { data: toMessage(present(answer.message)) };
  },
});
