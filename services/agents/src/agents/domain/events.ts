import { fieldEntries } from '@agent-service/contracts/agents/fields';
import type { Agent, AgentSummary, ChangedField } from './agent.ts';

/** Changes of agents that webhooks and the audit log report. */
export type AgentEvent =
  | { readonly type: 'agent.created'; readonly agent: Agent }
  | { readonly type: 'agent.updated'; readonly agent: Agent; readonly fields: readonly ChangedField[] }
  | { readonly type: 'agent.deleted'; readonly agent: Agent; readonly deletedAt: number };

/** Where callers of the API find a field. */
const paths = new Map<ChangedField, string>([['status', 'status'], ...fieldEntries.map(({ key, path }) => [key, path] as const)]);
const maskedFields = new Set<ChangedField>(fieldEntries.filter(({ isMasked }) => isMasked).map(({ key }) => key));

export const allFields: readonly ChangedField[] = [...paths.keys()];

const pathOf = (field: ChangedField): string => paths.get(field) ?? field;

/** The names of the API's top level, each once. */
const topLevelNames = (fields: readonly ChangedField[]): string[] => [...new Set(fields.map((field) => pathOf(field).replace(/\..*/, '')))];

/** An agent's fields for the audit log, with those hidden that are told to the model. */
const auditFields = (agent: Agent, fields: readonly ChangedField[]): Record<string, unknown> =>
  Object.fromEntries(fields.map((field) => [pathOf(field), maskedFields.has(field) ? '***' : agent[field]]));

/** The changes of an audit entry. */
export function toAuditChanges(event: AgentEvent): Record<string, unknown> {
  switch (event.type) {
    case 'agent.created':
      return auditFields(event.agent, allFields);
    case 'agent.updated':
      return auditFields(event.agent, event.fields);
    case 'agent.deleted':
      return { name: event.agent.name };
  }
}

const iso = (at: number) => new Date(at).toISOString();

const toListItem = ({ createdAt, updatedAt, id, name, description, category, status, model }: AgentSummary) => ({
  id,
  name,
  description,
  category,
  status,
  model,
  created_at: iso(createdAt),
  updated_at: iso(updatedAt),
});

/** The event's `data`, without the organization that every event carries. */
export function toEventData(event: AgentEvent): Record<string, unknown> {
  switch (event.type) {
    case 'agent.created':
      return { agent: toListItem(event.agent), source_template_id: event.agent.sourceTemplateId || null };
    case 'agent.updated':
      return { agent: toListItem(event.agent), changed_fields: topLevelNames(event.fields) };
    case 'agent.deleted':
      return { agent_id: event.agent.id, name: event.agent.name, deleted_at: iso(event.deletedAt) };
  }
}
