import { callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import { once } from '@agent-service/store';
import type { AgentsContext } from '../../context.ts';
import { rowMessage } from './read-answers.ts';

export const cancelAnswer = ({ answers, store }: Pick<AgentsContext, 'answers' | 'store'>): RpcOf<'agents', 'cancelAnswer'> => ({
  allow: callers({ scope: 'agents:chat' }),
  async handle({ agentId, messageId }, call) {
    const { organizationId, environment, userId } = call.tenant;
    const committed: (() => void)[] = [];
    const response = await once(store, call, async (transaction) => {
      const cancelled = await answers.cancel(transaction, { organizationId, environment, id: messageId }, { agentId, userId });
      if (!cancelled) throw new ServiceError('not_found');
      committed.push(cancelled.committed);
      return { message: rowMessage(cancelled.row) };
    });
    for (const follow of committed) follow();
    return response;
  },
});
