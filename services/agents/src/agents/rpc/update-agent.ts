import { type Call, callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import { once, type Sql } from '@agent-service/store';
import type { AgentsContext } from '../../context.ts';
import { checkScope } from '../../data-sources/check-scope.ts';
import { tenantOf } from '../../shared/call-tenant.ts';
import { type Agent, type AgentChanges, changeAgent } from '../domain/agent.ts';
import { lockAgent, updateAgent as saveAgent } from '../store/agents.ts';
import { nudgeRelays, recordEffects } from './agent-effects.ts';
import { fromUpdateRequest, toAgentMessage } from './agent-message.ts';

interface Wanted {
  readonly agentId: string;
  readonly changes: AgentChanges;
  readonly ifVersions: readonly number[];
}

export const updateAgent = (context: AgentsContext): RpcOf<'agents', 'updateAgent'> => ({
  allow: callers({ scope: 'agents:write' }),
  async handle(request, call) {
    const wanted: Wanted = { agentId: request.agentId, changes: fromUpdateRequest(request), ifVersions: request.ifVersions };
    await checkScope(context.sources, tenantOf(call), wanted.changes.tables);
    const response = await once(context.store, call, async ({ sql }) => ({
      agent: toAgentMessage(await apply(context, sql, call, wanted)),
    }));
    nudgeRelays(context);
    return response;
  },
});

async function apply(context: AgentsContext, sql: Sql, call: Call, { agentId, changes, ifVersions }: Wanted): Promise<Agent> {
  const tenant = tenantOf(call);
  const before = await lockAgent(sql, tenant, agentId);
  if (!before) throw new ServiceError('not_found');
  if (ifVersions.length > 0 && !ifVersions.includes(before.version)) throw new ServiceError('precondition_failed');
  const at = context.now();
  const { agent, fields } = changed(before, changes, at);
  if (fields.length === 0) return before;
  await saveAgent(sql, tenant, agent, before);
  await recordEffects(context, sql, call, { tenant, event: { type: 'agent.updated', agent, fields }, before, at });
  return agent;
}

function changed(before: Agent, changes: AgentChanges, at: number) {
  const outcome = changeAgent(before, changes, at);
  if (outcome.kind === 'changed') return outcome;
  throw new ServiceError('invalid_status_transition', {
    message: `An agent that is ${outcome.from} can not become ${outcome.to}.`,
    param: 'status',
    details: { from: outcome.from, to: outcome.to },
  });
}
