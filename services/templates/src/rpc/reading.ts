import { callers, type RpcOf } from '@agent-service/contracts';
import { filterTemplates, paginate, type SortKey, type TemplateFilter } from '../domain/listing.ts';
import { createdAt, type Template, type TemplateStatus, updatedAt } from '../domain/template.ts';
import { requireTemplate, type TemplatesContext } from './context.ts';

const defaultLimit = 20;
const maxLimit = 100;

export const listTemplates = (context: TemplatesContext): RpcOf<'templates', 'listTemplates'> => ({
  allow: callers({ scope: 'templates:read' }),
  async handle({ page, category, status, search }, { tenant: { organizationId, environment } }) {
    const filter: TemplateFilter = { category, status, search };
    const binding = ['templates', organizationId, environment, category, status, search];
    const start = context.cursors.decode(binding, page?.cursor ?? '');
    const statusOf = await readStatuses(context);
    const matching = filterTemplates(context.catalogue.all, filter, statusOf);
    const limit = Math.min(page?.limit || defaultLimit, maxLimit);
    // Only this method makes cursors with this binding, so they hold a sort key.
    const { templates, last } = paginate(matching, start?.after as SortKey | undefined, limit);
    return {
      templates: templates.map((template) => toSummary(context, template, statusOf(template.id))),
      page: { total: matching.length, nextCursor: last ? context.cursors.encode(binding, { after: last }) : '' },
    };
  },
});

export const getTemplate = (context: TemplatesContext): RpcOf<'templates', 'getTemplate'> => ({
  allow: callers({ scope: 'templates:read' }),
  async handle({ templateId }) {
    const template = requireTemplate(context, templateId);
    const statusOf = await readStatuses(context);
    return {
      template: {
        summary: toSummary(context, template, statusOf(templateId)),
        longDescription: template.longDescription,
        requiredPermissions: [...template.requiredPermissions],
        suggestedPrompts: [...template.suggestedPrompts],
        changelog: template.changelog.map((change) => ({ ...change })),
      },
    };
  },
});

/** A template is activated in an organization while its agent is active there. */
async function readStatuses({ agents }: TemplatesContext): Promise<(id: string) => TemplateStatus> {
  const { agents: templateAgents } = await agents.listTemplateAgents({});
  const active = new Set(templateAgents.flatMap(({ templateId, status }) => (status === 'active' ? [templateId] : [])));
  return (id) => (active.has(id) ? 'activated' : 'available');
}

const toSummary = ({ costOf }: TemplatesContext, template: Template, status: TemplateStatus) => ({
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
