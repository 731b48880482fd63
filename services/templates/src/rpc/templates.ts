import {
  type Call,
  type Client,
  callers,
  type Implementation,
  type RpcOf,
  required,
  requirePrincipal,
  ServiceError,
  tenantOf,
  withCall,
} from '@agent-service/contracts';
import { definitionToMessage } from '@agent-service/contracts/agents/definition';
import { type Cursors, limitOf } from '@agent-service/store/cursors';
import type { Catalogue } from '../catalogue.ts';
import {
  createdAt,
  filterTemplates,
  paginate,
  type SortKey,
  type Template,
  type TemplateFilter,
  type TemplateStatus,
  updatedAt,
} from '../domain/template.ts';

const activateTemplate = (deps: TemplatesDeps): RpcOf<'templates', 'activateTemplate'> => ({
  allow: callers({ scope: 'templates:write' }),
  async handle({ templateId, nameOverride, modelOverride }, call) {
    const template = requireTemplate(deps, templateId);
    checkPermissions(template, call);
    const request = {
      templateId,
      definition: definitionToMessage(template),
      requiredTables: [...template.requiredTables, ...template.tables.filter((table) => !template.requiredTables.includes(table))],
      ...(nameOverride !== '' && { name: nameOverride }),
      ...(modelOverride !== '' && { model: modelOverride }),
    };
    const { agent } = await forwardIdempotencyKey(call, () => deps.agents.activateTemplateAgent(request));
    const { id: agentId, name, status, updatedAt: activatedAt } = required(agent);
    return { templateId, agentId, name, status, activatedAt };
  },
});

const deactivateTemplate = (deps: TemplatesDeps): RpcOf<'templates', 'deactivateTemplate'> => ({
  allow: callers({ scope: 'templates:write' }),
  async handle({ templateId }, call) {
    requireTemplate(deps, templateId);
    const { agent } = await forwardIdempotencyKey(call, () => deps.agents.deactivateTemplateAgent({ templateId }));
    const { id: agentId, status, updatedAt: deactivatedAt } = required(agent);
    return { templateId, agentId, status, deactivatedAt };
  },
});

/** Creates an agent with the template's definition. Later changes of one do not affect the other. */
const duplicateTemplate = (deps: TemplatesDeps): RpcOf<'templates', 'duplicateTemplate'> => ({
  allow: callers({ scope: 'agents:write' }),
  async handle({ templateId, name, description }, call) {
    const definition = definitionToMessage(requireTemplate(deps, templateId));
    const request = { ...definition, name, description: description ?? definition.description, sourceTemplateId: templateId };
    const { agent } = await forwardIdempotencyKey(call, () => deps.agents.createAgent(request));
    const { id, name: agentName, description: agentDescription, status, sourceTemplateId, createdAt } = required(agent);
    return { id, name: agentName, description: agentDescription, status, sourceTemplateId, createdAt };
  },
});

function checkPermissions(template: Template, call: Call): void {
  const { scopes } = requirePrincipal(call);
  const missing = template.requiredPermissions.filter((permission) => !scopes.includes(permission));
  if (missing.length === 0) return;
  throw new ServiceError('insufficient_scope', {
    message: `The token lacks what this template requires: ${missing.join(', ')}.`,
    details: { required: [...template.requiredPermissions], granted: [...scopes] },
  });
}

/**
 * Passes the caller's Idempotency-Key on to agents, which stores the outcome in the transaction that changes the agent. A repeated
 * request gets the stored outcome.
 */
function forwardIdempotencyKey<T>(call: Call, work: () => Promise<T>): Promise<T> {
  const { requestId, principal, voucher, expiresAt, requestedOnce: idempotency } = call;
  const onReplayed = () => {
    call.replayed = true;
  };
  return withCall({ requestId, principal, voucher, expiresAt, idempotency, onReplayed }, work);
}

const listTemplates = (deps: TemplatesDeps): RpcOf<'templates', 'listTemplates'> => ({
  allow: callers({ scope: 'templates:read' }),
  async handle({ page, category, status, search }, call) {
    const { organizationId, environment } = tenantOf(call);
    const filter: TemplateFilter = { category, status, search };
    const binding = ['templates', organizationId, environment, category, status, search];
    const start = deps.cursors.decode(binding, page?.cursor ?? '');
    const statusOf = await readStatuses(deps);
    const matching = filterTemplates(deps.catalogue.all, filter, statusOf);
    const limit = limitOf(page);
    // Only this method makes cursors with this binding, so they hold a sort key.
    const { templates, last } = paginate(matching, start?.after as SortKey | undefined, limit);
    return {
      templates: templates.map((template) => toSummary(deps, template, statusOf(template.id))),
      page: { total: matching.length, nextCursor: last ? deps.cursors.encode(binding, { after: last }) : '' },
    };
  },
});

const getTemplate = (deps: TemplatesDeps): RpcOf<'templates', 'getTemplate'> => ({
  allow: callers({ scope: 'templates:read' }),
  async handle({ templateId }) {
    const template = requireTemplate(deps, templateId);
    const statusOf = await readStatuses(deps);
    return {
      template: {
        summary: toSummary(deps, template, statusOf(templateId)),
        longDescription: template.longDescription,
        requiredPermissions: [...template.requiredPermissions],
        suggestedPrompts: [...template.suggestedPrompts],
        changelog: template.changelog.map((change) => ({ ...change })),
      },
    };
  },
});

/** A template is activated in an organization while its agent is active there. */
async function readStatuses({ agents }: TemplatesDeps): Promise<(id: string) => TemplateStatus> {
  const { agents: templateAgents } = await agents.listTemplateAgents({});
  const active = new Set(templateAgents.flatMap(({ templateId, status }) => (status === 'active' ? [templateId] : [])));
  return (id) => (active.has(id) ? 'activated' : 'available');
}

const toSummary = ({ costOf }: TemplatesDeps, template: Template, status: TemplateStatus) => ({
  id: template.id,
  name: template.name,
  description: template.description,
  category: template.category,
  version: template.version,
  model: template.model,
  creditCostEstimate: costOf(template.model),
  status,
  requiredTables: [...template.requiredTables],
  createdAt: createdAt(template),
  updatedAt: updatedAt(template),
});

/** Dependencies of the methods of this service. */
export interface TemplatesDeps {
  readonly catalogue: Catalogue;
  readonly agents: Client<'agents'>;
  readonly cursors: Cursors;
  /** The cost of an answer of this tier, as a readable text. */
  readonly costOf: (tier: Template['model']) => string;
}

/** The template with this id; an unknown id is a 404. */
function requireTemplate({ catalogue }: TemplatesDeps, id: string): Template {
  const template = catalogue.find(id);
  if (!template) throw new ServiceError('not_found');
  return template;
}

/** Every method of the contract. */
export const implementation = (deps: TemplatesDeps): Implementation<'templates'> => ({
  activateTemplate: activateTemplate(deps),
  deactivateTemplate: deactivateTemplate(deps),
  duplicateTemplate: duplicateTemplate(deps),
  getTemplate: getTemplate(deps),
  listTemplates: listTemplates(deps),
});
