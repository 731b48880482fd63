import type { Agent, Summary } from './agent.ts';
import type { ChangedField } from './change.ts';
import { topLevel } from './field-names.ts';

/** What webhooks are told about agents. */
export type AgentEvent =
  | { readonly type: 'agent.created'; readonly agent: Agent }
  | { readonly type: 'agent.updated'; readonly agent: Agent; readonly fields: readonly ChangedField[] }
  | { readonly type: 'agent.deleted'; readonly agent: Agent; readonly deletedAt: number };

const iso = (at: number) => new Date(at).toISOString();

const listItem = ({ createdAt, updatedAt, id, name, description, category, status, model }: Summary) => ({
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
export function dataOf(event: AgentEvent): Record<string, unknown> {
  switch (event.type) {
    case 'agent.created':
      return { agent: listItem(event.agent), source_template_id: event.agent.sourceTemplateId || null };
    case 'agent.updated':
      return { agent: listItem(event.agent), changed_fields: topLevel(event.fields) };
    case 'agent.deleted':
      return { agent_id: event.agent.id, name: event.agent.name, deleted_at: iso(event.deletedAt) };
  }
}
