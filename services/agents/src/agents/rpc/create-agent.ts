import { type Call, callers, newId, type RpcOf } from '@agent-service/contracts';
import { definitionFromMessage } from '@agent-service/contracts/agents/definition';
import { once, type Sql, writeAudit } from '@agent-service/store';
import type { AgentsContext } from '../../context.ts';
import { checkScope } from '../../data-sources/check-scope.ts';
import { tenantOf } from '../../shared/call-tenant.ts';
import { type Agent, createDraft } from '../domain/agent.ts';
import { insertAgent } from '../store/agents.ts';
import { nudgeRelays, recordEffects } from './agent-effects.ts';
import { toAgentMessage } from './agent-message.ts';

export const createAgent = (context: AgentsContext): RpcOf<'agents', 'createAgent'> => ({
  allow: { ...callers({ scope: 'agents:write' }), services: ['gateway', 'templates'] },
  async handle(request, call) {
    const definition = definitionFromMessage(request);
    const { sourceTemplateId } = request;
    const tenant = tenantOf(call);
    // Tables of a template are not the caller's: a copy is there to be fitted to other ones.
    if (sourceTemplateId === '') await checkScope(context.sources, tenant, definition.tables);
    const response = await once(context.store, call, async ({ sql }) => {
      const at = context.now();
      const agent = createDraft(definition, { id: newId('agt', at), createdBy: call.tenant.userId, createdAt: at, sourceTemplateId });
      await insertAgent(sql, tenant, agent);
      await recordEffects(context, sql, call, { tenant, event: { type: 'agent.created', agent }, before: undefined, at });
      if (sourceTemplateId !== '') await recordDuplicate(sql, call, agent);
      return { agent: toAgentMessage(agent) };
    });
    nudgeRelays(context);
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
