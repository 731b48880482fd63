import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { message, messageParams, toMessage } from '../../schemas/conversation.ts';

export const cancelAnswer = route({
  method: 'POST',
  path: '/v1/agents/{agent_id}/messages/{message_id}/cancel',
  operationId: 'cancelAnswer',
  summary: 'End an answer that has no result yet, without a charge',
  description: 'An answer that has its result already is returned as it is.',
  tag: 'Conversations',
  auth: 'token',
  scope: 'agents:chat',
  cost: 'write',
  extension: true,
  params: messageParams,
  response: z.strictObject({ data: message }),
  async handler({ params: { agent_id: agentId, message_id: messageId } }, { agents }) {
    const answer = await agents.cancelAnswer({ agentId, messageId });
    return { data: toMessage(required(answer.message)) };
  },
});
