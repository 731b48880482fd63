import { callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import { once } from '@agent-service/store';
import { tenantOf } from '../../shared/tenant.ts';
import { lockAgent, deleteAgent as removeAgent } from '../store/agents.ts';
import { type AgentsDeps, nudgeRelays, recordEffects } from './agent-effects.ts';

/** Callers no longer see the agent after the commit. A sweep removes its conversations; usage records stay. */
export const deleteAgent = (deps: AgentsDeps): RpcOf<'agents', 'deleteAgent'> => ({
  allow: callers({ scope: 'agents:write' }),
  async handle({ agentId }, call) {
    const tenant = tenantOf(call);
    let afterCommit: (() => void) | undefined;
    await once(deps.store, call, async (transaction) => {
      const { sql, em } = transaction;
      const agent = await lockAgent(em, tenant, agentId);
      if (!agent) throw new ServiceError('not_found');
      const at = deps.now();
      await removeAgent(em, tenant, agentId, at);
      await recordEffects(deps, sql, call, { tenant, event: { type: 'agent.deleted', agent, deletedAt: at }, before: agent, at });
      afterCommit = await deps.failAnswersOfAgent(transaction, tenant, agentId);
      return {};
    });
    afterCommit?.();
    nudgeRelays(deps);
    return {};
  },
});
