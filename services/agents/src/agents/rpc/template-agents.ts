import { type Call, newId, type RpcOf, requirePrincipal, ServiceError, services, tenantOf } from '@agent-service/contracts';
import { changesFromMessage, definitionFromMessage } from '@agent-service/contracts/agents/definition';
import type { AgentDefinition, DefinitionChanges } from '@agent-service/contracts/agents/fields';
import { once, type Sql, type Transaction, writeAudit } from '@agent-service/store';
import { findMissingTables, type TenantCatalog } from '../../data-sources/index.ts';
import type { ServiceDeps } from '../../shared/deps.ts';
import { type Agent, createDraft } from '../domain/agent.ts';
import { insertAgent, lockTemplateAgent, selectTemplateAgents } from '../store/agents.ts';
import { type AgentsDeps, applyChanges, nudgeRelays, recordEffects, toAgentMessage } from './agents.ts';

interface Activation {
  readonly templateId: string;
  /** With the overrides. */
  readonly definition: AgentDefinition;
  readonly overrides: DefinitionChanges;
  /** The tables that a new agent needs. */
  readonly requiredTables: readonly string[];
  readonly catalog: TenantCatalog;
}

type ActivationRequest = Parameters<RpcOf<'agents', 'activateTemplateAgent'>['handle']>[0];

/** An attempt fails if the agent exists at the insert and is deleted before the next look-up. */
const maxAttempts = 5;

export const activateTemplateAgent = (deps: AgentsDeps): RpcOf<'agents', 'activateTemplateAgent'> => ({
  allow: { ...services('templates'), scope: 'templates:write' },
  async handle(request, call) {
    const activation = { ...readRequest(request), catalog: await deps.sources.catalogOf(tenantOf(call)) };
    const response = await once(deps.store, call, async (transaction) => {
      const agent = await activate(deps, transaction, call, activation);
      const { id, name, model } = agent;
      await recordTemplate(
        transaction.sql,
        call,
        { action: 'template.activated', id: activation.templateId },
        { agent_id: id, name, model },
      );
      return { agent: toAgentMessage(agent) };
    });
    nudgeRelays(deps);
    return response;
  },
});

export const deactivateTemplateAgent = (deps: AgentsDeps): RpcOf<'agents', 'deactivateTemplateAgent'> => ({
  allow: { ...services('templates'), scope: 'templates:write' },
  async handle({ templateId }, call) {
    const response = await once(deps.store, call, async (transaction) => {
      const before = await lockTemplateAgent(transaction.em, tenantOf(call), templateId);
      if (before?.status !== 'active') throw new ServiceError('template_not_activated');
      const agent = await applyChanges(deps, transaction, call, before, { status: 'inactive' });
      await recordTemplate(transaction.sql, call, { action: 'template.deactivated', id: templateId }, { agent_id: agent.id });
      return { agent: toAgentMessage(agent) };
    });
    nudgeRelays(deps);
    return response;
  },
});

export const listTemplateAgents = ({ store }: ServiceDeps): RpcOf<'agents', 'listTemplateAgents'> => ({
  allow: { ...services('templates'), scope: 'templates:read' },
  handle: async (_, call) => ({ agents: await selectTemplateAgents(store, tenantOf(call)) }),
});

function readRequest({ templateId, definition: message, name, model, requiredTables }: ActivationRequest): Omit<Activation, 'catalog'> {
  if (!message) throw new ServiceError('internal', { cause: new Error('the request has no definition') });
  const overrides = changesFromMessage({ name, model });
  return { templateId, definition: { ...definitionFromMessage(message), ...overrides }, overrides, requiredTables };
}

/** One of several concurrent activations inserts the agent; the others wait for its transaction and find the agent active. */
async function activate(deps: AgentsDeps, transaction: Transaction, call: Call, activation: Activation): Promise<Agent> {
  for (let left = maxAttempts; left > 0; left -= 1) {
    const existing = await lockTemplateAgent(transaction.em, tenantOf(call), activation.templateId);
    if (existing?.status === 'active') throw alreadyActivated(existing);
    // The agent that is kept has tables of its own, which may differ from those of the catalogue.
    if (existing) requireTables(activation.catalog, existing.tables, 'the agent of this template');
    else requireTables(activation.catalog, activation.requiredTables, 'this template');
    const agent = existing
      ? await applyChanges(deps, transaction, call, existing, { status: 'active', ...activation.overrides })
      : await createTemplateAgent(deps, transaction, call, activation);
    if (agent) return agent;
  }
  throw new ServiceError('unavailable', { cause: new Error('the agent of the template was created and deleted repeatedly') });
}

const alreadyActivated = ({ id, name }: Agent): ServiceError =>
  new ServiceError('template_already_activated', {
    message: `The template is activated already, as the agent ${id} (${name}).`,
    details: { agent_id: id },
  });

function requireTables(catalog: TenantCatalog, entries: readonly string[], owner: string): void {
  const { tables, reasons } = findMissingTables(catalog, entries);
  if (reasons.length === 0) return;
  throw new ServiceError('template_requirements_unmet', {
    message: `The connected data source lacks what ${owner} needs: ${reasons.join('; ')}.`,
    details: { missing_tables: tables, reasons },
  });
}

/** Undefined when a concurrent activation has created the agent. */
async function createTemplateAgent(
  deps: AgentsDeps,
  { sql, em }: Transaction,
  call: Call,
  { templateId, definition }: Activation,
): Promise<Agent | undefined> {
  const [tenant, at] = [tenantOf(call), deps.now()];
  const origin = { id: newId('agt', at), createdBy: requirePrincipal(call).userId, createdAt: at, sourceTemplateId: templateId };
  const agent: Agent = { ...createDraft(definition, origin), status: 'active' };
  if (!(await insertAgent(em, tenant, agent, templateId))) return undefined;
  await recordEffects(deps, sql, call, { tenant, event: { type: 'agent.created', agent }, before: undefined, at });
  return agent;
}

const recordTemplate = (
  sql: Sql,
  call: Call,
  { action, id }: { readonly action: string; readonly id: string },
  changes: Record<string, unknown>,
): Promise<void> => writeAudit(sql, call, { ...tenantOf(call), action, target: { type: 'template', id }, changes });
