import { type Call, callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import { once, type Transaction } from '@agent-service/store';
import { checkScope } from '../../data-sources/index.ts';
import { tenantOf } from '../../shared/tenant.ts';
import { type Agent, type AgentChanges, changeAgent } from '../domain/agent.ts';
import { lockAgent, updateAgent as updateRow } from '../store/agents.ts';
import { type AgentsDeps, nudgeRelays, recordEffects } from './agent-effects.ts';
import { fromUpdateRequest, toAgentMessage } from './agent-message.ts';

interface Update {
  readonly agentId: string;
  readonly changes: AgentChanges;
  /** Versions of If-Match; none: any version. */
  readonly ifVersions: readonly number[];
}

export const updateAgent = (deps: AgentsDeps): RpcOf<'agents', 'updateAgent'> => ({
  allow: callers({ scope: 'agents:write' }),
  async handle(request, call) {
    const update: Update = { agentId: request.agentId, changes: fromUpdateRequest(request), ifVersions: request.ifVersions };
    await checkScope(deps.sources, tenantOf(call), update.changes.tables);
    const response = await once(deps.store, call, async (transaction) => ({
      agent: toAgentMessage(await applyUpdate(deps, transaction, call, update)),
    }));
    nudgeRelays(deps);
    return response;
  },
});

async function applyUpdate(
  deps: AgentsDeps,
  { sql, em }: Transaction,
  call: Call,
  { agentId, changes, ifVersions }: Update,
): Promise<Agent> {
  const tenant = tenantOf(call);
  const before = await lockAgent(em, tenant, agentId);
  if (!before) throw new ServiceError('not_found');
  if (ifVersions.length > 0 && !ifVersions.includes(before.version)) throw new ServiceError('precondition_failed');
  const at = deps.now();
  const outcome = changeAgent(before, changes, at);
  if (outcome.kind === 'refused')
    throw new ServiceError('invalid_status_transition', {
      message: `An agent that is ${outcome.from} cannot become ${outcome.to}.`,
      param: 'status',
      details: { from: outcome.from, to: outcome.to },
    });
  const { agent, fields } = outcome;
  if (fields.length === 0) return before;
  await updateRow(em, tenant, agent, before);
  await recordEffects(deps, sql, call, { tenant, event: { type: 'agent.updated', agent, fields }, before, at });
  return agent;
}
