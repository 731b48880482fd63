import { type Call, newId, type RpcOf, ServiceError, services } from '@agent-service/contracts';
import { changesFromMessage, definitionFromMessage } from '@agent-service/contracts/agents/definition';
import type { AgentDefinition, DefinitionChanges } from '@agent-service/contracts/agents/fields';
import { once, type Sql, writeAudit } from '@agent-service/store';
import type { AgentsContext } from '../../context.ts';
import { type Unmet, unmetTables } from '../../data-sources/unmet-tables.ts';
import { tenantOf } from '../../shared/call-tenant.ts';
import { type Agent, changeAgent, createDraft } from '../domain/agent.ts';
import { insertAgent, updateAgent } from '../store/agents.ts';
import { lockTemplateAgent } from '../store/template-agents.ts';
import { nudgeRelays, recordEffects } from './agent-effects.ts';
import { toAgentMessage } from './agent-message.ts';

interface Wanted {
  readonly templateId: string;
  /** With the overrides. */
  readonly definition: AgentDefinition;
  readonly overrides: Pick<DefinitionChanges, 'name' | 'model'>;
}

type Request = Parameters<RpcOf<'agents', 'activateTemplateAgent'>['handle']>[0];

/** Each try but the last has met an agent that was there for the insert and gone for the look that followed. */
const mostTries = 5;

export const activateTemplateAgent = (context: AgentsContext): RpcOf<'agents', 'activateTemplateAgent'> => ({
  allow: { ...services('templates'), scope: 'templates:write' },
  async handle(request, call) {
    const wanted = wantedOf(request);
    const unmet = await unmetTables(context.sources, tenantOf(call), request.requiredTables);
    const response = await once(context.store, call, async ({ sql }) => {
      const agent = await activate(context, sql, call, { wanted, unmet });
      await recordActivation(sql, call, wanted.templateId, agent);
      return { agent: toAgentMessage(agent) };
    });
    nudgeRelays(context);
    return response;
  },
});

function wantedOf({ templateId, definition: message, name, model }: Request): Wanted {
  if (!message) throw new ServiceError('internal', { cause: new Error('the request has no definition') });
  const overrides = changesFromMessage({ name, model });
  return { templateId, definition: { ...definitionFromMessage(message), ...overrides }, overrides };
}

/** Of many at once one makes the agent: the others wait for its transaction, and then find it active. */
async function activate(context: AgentsContext, sql: Sql, call: Call, { wanted, unmet }: { wanted: Wanted; unmet: Unmet }): Promise<Agent> {
  for (let left = mostTries; left > 0; left -= 1) {
    const kept = await lockTemplateAgent(sql, tenantOf(call), wanted.templateId);
    if (kept?.status === 'active') throw new ServiceError('template_already_activated', { details: { agent_id: kept.id } });
    refuseUnmet(unmet);
    const agent = kept ? await wake(context, sql, call, kept, wanted) : await create(context, sql, call, wanted);
    if (agent) return agent;
  }
  throw new ServiceError('unavailable', { cause: new Error('the agent of the template came and went') });
}

function refuseUnmet({ tables, reasons }: Unmet): void {
  if (reasons.length === 0) return;
  throw new ServiceError('template_requirements_unmet', {
    message: `The connected data source lacks what this template needs: ${reasons.join('; ')}.`,
    details: { missing_tables: tables, reasons },
  });
}

/** Undefined when another was faster. */
async function create(context: AgentsContext, sql: Sql, call: Call, { templateId, definition }: Wanted): Promise<Agent | undefined> {
  const [tenant, at] = [tenantOf(call), context.now()];
  const origin = { id: newId('agt', at), createdBy: call.tenant.userId, createdAt: at, sourceTemplateId: templateId };
  const agent: Agent = { ...createDraft(definition, origin), status: 'active' };
  if (!(await insertAgent(sql, tenant, agent, templateId))) return undefined;
  await recordEffects(context, sql, call, { tenant, event: { type: 'agent.created', agent }, before: undefined, at });
  return agent;
}

async function wake(context: AgentsContext, sql: Sql, call: Call, before: Agent, { overrides }: Wanted): Promise<Agent> {
  const [tenant, at] = [tenantOf(call), context.now()];
  const changed = changeAgent(before, { status: 'active', ...overrides }, at);
  if (changed.kind === 'refused') throw new ServiceError('invalid_status_transition', { details: { from: changed.from, to: changed.to } });
  const { agent, fields } = changed;
  await updateAgent(sql, tenant, agent, before);
  await recordEffects(context, sql, call, { tenant, event: { type: 'agent.updated', agent, fields }, before, at });
  return agent;
}

const recordActivation = (sql: Sql, call: Call, templateId: string, { id, name, model }: Agent): Promise<void> =>
  writeAudit(sql, call, {
    ...tenantOf(call),
    action: 'template.activated',
    target: { type: 'template', id: templateId },
    changes: { agent_id: id, name, model },
  });
