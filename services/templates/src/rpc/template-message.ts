import type { TemplatesContext } from '../context.ts';
import { createdAt, type Status, type Template, updatedAt } from '../domain/template.ts';

/** What a list shows of a template. */
export const toSummary = ({ costOf }: TemplatesContext, template: Template, status: Status) => ({
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

/** What agents of the template are made of. */
export const toDefinition = (template: Template) => ({
  name: template.name,
  description: template.description,
  category: template.category,
  model: template.model,
  systemPrompt: template.systemPrompt,
  welcomeMessage: template.welcomeMessage,
  suggestedPrompts: [...template.suggestedPrompts],
  dataScope: { tables: [...template.tables], readOnly: template.readOnly },
  outputPreferences: { defaultFormat: template.defaultFormat, chartEnabled: template.chartEnabled },
});
