import { callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import { once } from '@agent-service/store';
import type { AgentsContext } from '../../context.ts';
import { rowMessage } from '../read.ts';

export const cancelAnswer = ({ answers, store }: Pick<AgentsContext, 'answers' | 'store'>): RpcOf<'agents', 'cancelAnswer'> => ({
  allow: callers({ scope: 'agents:chat' }),
  async handle({ agentId, messageId }, call) {
    const { organizationId, environment, userId } = call.tenant;
    const onCommit: (() => void)[] = [];
    const response = await once(store, call, async (transaction) => {
      const cancellation = await answers.cancel(transaction, { organizationId, environment, id: messageId }, { agentId, userId });
      if (!cancellation) throw new ServiceError('not_found');
      onCommit.push(cancellation.onCommit);
      return { message: rowMessage(cancellation.row) };
    });
    for (const follow of onCommit) follow();
    return response;
  },
});
