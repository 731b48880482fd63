import { type Call, type RpcOf, ServiceError, services } from '@agent-service/contracts';
import { once, type Sql, writeAudit } from '@agent-service/store';
import type { AgentsContext } from '../../context.ts';
import { tenantOf } from '../../shared/call-tenant.ts';
import { type Agent, changeAgent } from '../domain/agent.ts';
import { updateAgent } from '../store/agents.ts';
import { lockTemplateAgent } from '../store/template-agents.ts';
import { nudgeRelays, recordEffects } from './agent-effects.ts';
import { toAgentMessage } from './agent-message.ts';

export const deactivateTemplateAgent = (context: AgentsContext): RpcOf<'agents', 'deactivateTemplateAgent'> => ({
  allow: { ...services('templates'), scope: 'templates:write' },
  async handle({ templateId }, call) {
    const response = await once(context.store, call, async ({ sql }) => ({
      agent: toAgentMessage(await deactivate(context, sql, call, templateId)),
    }));
    nudgeRelays(context);
    return response;
  },
});

async function deactivate(context: AgentsContext, sql: Sql, call: Call, templateId: string): Promise<Agent> {
  const tenant = tenantOf(call);
  const before = await lockTemplateAgent(sql, tenant, templateId);
  if (before?.status !== 'active') throw new ServiceError('template_not_activated');
  const at = context.now();
  const changed = changeAgent(before, { status: 'inactive' }, at);
  if (changed.kind === 'refused') throw new ServiceError('invalid_status_transition', { details: { from: changed.from, to: changed.to } });
  const { agent, fields } = changed;
  await updateAgent(sql, tenant, agent, before);
  await recordEffects(context, sql, call, { tenant, event: { type: 'agent.updated', agent, fields }, before, at });
  await writeAudit(sql, call, {
    ...tenant,
    action: 'template.deactivated',
    target: { type: 'template', id: templateId },
    changes: { agent_id: agent.id },
  });
  return agent;
}
