import type { Client } from '@agent-service/contracts';
import type { z } from 'zod';
import { present } from '../routes/present.ts';
import type { template, templateSummary } from './template.ts';

type Templates = Client<'templates'>;
type DetailMessage = NonNullable<Awaited<ReturnType<Templates['getTemplate']>>['template']>;
type SummaryMessage = NonNullable<DetailMessage['summary']>;
type Summary = z.output<typeof templateSummary>;

/** A template as a list returns it, as callers see it. */
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
  ...toTemplateSummary(present(message.summary)),
  long_description: message.longDescription,
  required_permissions: message.requiredPermissions,
  suggested_prompts: message.suggestedPrompts,
  changelog: message.changelog.map(({ version, date, changes }) => ({ version, date, changes })),
});
