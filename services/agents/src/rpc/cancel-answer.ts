import { callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import type { AgentsContext } from '../context.ts';
import { rowMessage } from './read-answers.ts';

export const cancelAnswer = ({ answers }: Pick<AgentsContext, 'answers'>): RpcOf<'agents', 'cancelAnswer'> => ({
  allow: callers({ scope: 'agents:chat' }),
  async handle({ agentId, messageId }, call) {
    const { organizationId, environment, userId } = call.tenant;
    const row = await answers.cancel({ organizationId, environment, id: messageId }, { agentId, userId });
    if (!row) throw new ServiceError('not_found');
    return { message: rowMessage(row) };
  },
});
