import { type Client, required } from '@agent-service/contracts';
import { z } from 'zod';
import { tier } from './agent.ts';

const id = z.string().meta({ example: 'tpl_sales_performance' });
const agentId = z.string().meta({ example: 'agt_01jz0000000000000000000000' });
const time = z.iso.datetime().meta({ example: '2026-01-31T10:00:00.000Z' });
const agentName = z.string().meta({ example: 'Sales assistant' });
const version = z.string().meta({ example: '1.1.0' });

export const templateParams = z.strictObject({ template_id: id });

export const templateCategory = z.enum(['finance', 'sales', 'inventory', 'purchasing', 'hr']).meta({ example: 'sales' });
export const templateStatus = z
  .enum(['available', 'activated'])
  .meta({ description: 'Activated while the organization’s agent of this template is active.', example: 'available' });

const summaryFields = {
  id,
  name: z.string().meta({ example: 'Sales performance' }),
  description: z.string().meta({ example: 'Answers questions about revenue.' }),
  category: templateCategory,
  version,
  model: tier,
  credit_cost_estimate: z.string().meta({ example: '1-4 credits per query' }),
  status: templateStatus,
  required_tables: z
    .array(z.string())
    .meta({ description: 'The tables that a connected data source must have.', example: ['orders', 'customers'] }),
  created_at: time.meta({ example: '2026-01-15T00:00:00.000Z' }),
  updated_at: time.meta({ example: '2026-01-31T00:00:00.000Z' }),
};

/** A template as an entry of a list. */
export const templateSummary = z.strictObject(summaryFields).meta({ id: 'TemplateSummary' });

const change = z
  .strictObject({
    version,
    date: z.iso.date().meta({ example: '2026-01-31' }),
    changes: z.string().meta({ example: 'Revenue is told by channel as well.' }),
  })
  .meta({ id: 'TemplateChange' });

export const template = z
  .strictObject({
    ...summaryFields,
    long_description: z.string().meta({ example: 'For anyone who wants to know how sales go.' }),
    required_permissions: z
      .array(z.string())
      .meta({ description: 'Scopes that the caller must have to activate the template.', example: ['templates:write'] }),
    suggested_prompts: z.array(z.string()).meta({ example: ['How much did we sell last month?'] }),
    changelog: z.array(change).meta({
      description: 'Newest first.',
      example: [
        { version: '1.1.0', date: '2026-01-31', changes: 'Revenue is told by channel as well.' },
        { version: '1.0.0', date: '2026-01-15', changes: 'First version: revenue by month.' },
      ],
    }),
  })
  .meta({ id: 'Template' });

export const activation = z
  .strictObject({ template_id: id, agent_id: agentId, name: agentName, status: z.literal('active'), activated_at: time })
  .meta({ id: 'TemplateActivation' });

export const deactivation = z
  .strictObject({ template_id: id, agent_id: agentId, status: z.literal('inactive'), deactivated_at: time })
  .meta({ id: 'TemplateDeactivation' });

export const duplicatedAgent = z
  .strictObject({
    id: agentId,
    name: agentName,
    description: z.string().meta({ example: 'Answers questions about sales.' }),
    status: z.literal('draft'),
    source_template_id: id,
    created_at: time,
  })
  .meta({ id: 'DuplicatedAgent' });

type Templates = Client<'templates'>;
type DetailMessage = NonNullable<Awaited<ReturnType<Templates['getTemplate']>>['template']>;
type SummaryMessage = NonNullable<DetailMessage['summary']>;
type Summary = z.output<typeof templateSummary>;

/** Converts a template of a list to its public form. */
export const toTemplateSummary = (message: SummaryMessage): Summary => ({
  id: message.id,
  name: message.name,
  description: message.description,
  category: message.category as Summary['category'],
  version: message.version,
  model: message.model as Summary['model'],
  credit_cost_estimate: message.creditCostEstimate,
  status: message.status as Summary['status'],
  required_tables: message.requiredTables,
  created_at: message.createdAt,
  updated_at: message.updatedAt,
});

export const toTemplate = (message: DetailMessage): z.output<typeof template> => ({
  ...toTemplateSummary(required(message.summary)),
  long_description: message.longDescription,
  required_permissions: message.requiredPermissions,
  suggested_prompts: message.suggestedPrompts,
  changelog: message.changelog.map(({ version, date, changes }) => ({ version, date, changes })),
});
