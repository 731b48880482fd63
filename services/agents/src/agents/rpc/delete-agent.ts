import { callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import { once } from '@agent-service/store';
import type { AgentsContext } from '../../context.ts';
import { tenantOf } from '../../shared/call-tenant.ts';
import { lockAgent, deleteAgent as removeAgent } from '../store/agents.ts';
import { nudgeRelays, recordEffects } from './agent-effects.ts';

/** Gone for callers with the commit. What belonged to the agent is removed by a sweep; usage records are not the agent's and stay. */
export const deleteAgent = (context: AgentsContext): RpcOf<'agents', 'deleteAgent'> => ({
  allow: callers({ scope: 'agents:write' }),
  async handle({ agentId }, call) {
    const tenant = tenantOf(call);
    let afterCommit: (() => void) | undefined;
    await once(context.store, call, async (transaction) => {
      const { sql } = transaction;
      const agent = await lockAgent(sql, tenant, agentId);
      if (!agent) throw new ServiceError('not_found');
      const at = context.now();
      await removeAgent(sql, tenant, agentId, at);
      await recordEffects(context, sql, call, { tenant, event: { type: 'agent.deleted', agent, deletedAt: at }, before: agent, at });
      afterCommit = await context.answers.failAnswersOfAgent(transaction, tenant, agentId);
      return {};
    });
    afterCommit?.();
    nudgeRelays(context);
    return {};
  },
});
