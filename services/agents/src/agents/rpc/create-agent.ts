import { type Call, callers, newId, type RpcOf } from '@agent-service/contracts';
import { definitionFromMessage } from '@agent-service/contracts/agents/definition';
import { once, type Sql, writeAudit } from '@agent-service/store';
import { checkScope } from '../../data-sources/index.ts';
import { tenantOf } from '../../shared/tenant.ts';
import { type Agent, createDraft } from '../domain/agent.ts';
import { insertAgent } from '../store/agents.ts';
import { type AgentsDeps, nudgeRelays, recordEffects } from './agent-effects.ts';
import { toAgentMessage } from './agent-message.ts';

export const createAgent = (deps: AgentsDeps): RpcOf<'agents', 'createAgent'> => ({
  allow: { ...callers({ scope: 'agents:write' }), services: ['gateway', 'templates'] },
  async handle(request, call) {
    const definition = definitionFromMessage(request);
    const { sourceTemplateId } = request;
    const tenant = tenantOf(call);
    // The caller adapts the tables of a duplicated template later.
    if (sourceTemplateId === '') await checkScope(deps.sources, tenant, definition.tables);
    const response = await once(deps.store, call, async ({ sql, em }) => {
      const at = deps.now();
      const agent = createDraft(definition, { id: newId('agt', at), createdBy: call.tenant.userId, createdAt: at, sourceTemplateId });
      await insertAgent(em, tenant, agent);
      await recordEffects(deps, sql, call, { tenant, event: { type: 'agent.created', agent }, before: undefined, at });
      if (sourceTemplateId !== '') await recordDuplicate(sql, call, agent);
      return { agent: toAgentMessage(agent) };
    });
    nudgeRelays(deps);
    return response;
  },
});

const recordDuplicate = (sql: Sql, call: Call, { id, name, sourceTemplateId }: Agent): Promise<void> =>
  writeAudit(sql, call, {
    ...tenantOf(call),
    action: 'template.duplicated',
    target: { type: 'template', id: sourceTemplateId },
    changes: { agent_id: id, name },
  });
