import { type AgentDefinition, type FieldEntry, fieldEntries, tiers } from '@agent-service/contracts/agents/fields';
import { defineEntity, environment, migratedIndex, p, timestamp } from '@agent-service/store/entities';
import { z } from 'zod';

function columnOf({ key, input, isList }: FieldEntry) {
  if (key === 'model') return p.enum([...tiers]);
  if (isList) return p.array<string>();
  return input instanceof z.ZodBoolean ? p.boolean() : p.text();
}

interface Columns {
  text: ReturnType<typeof p.text>;
  boolean: ReturnType<typeof p.boolean>;
  list: ReturnType<typeof p.array<string>>;
}
type ColumnOf<Value> = Value extends boolean ? Columns['boolean'] : Value extends readonly string[] ? Columns['list'] : Columns['text'];

/** A column for each field of a definition, under the field's own name. */
const definitionColumns = Object.fromEntries(fieldEntries.map((entry) => [entry.key, columnOf(entry)])) as unknown as {
  [Key in keyof AgentDefinition]: ColumnOf<AgentDefinition[Key]>;
};

export const AgentEntity = defineEntity({
  name: 'Agent',
  tableName: 'agents',
  indexes: [
    'agents_listed_index',
    'agents_status_index',
    'agents_category_index',
    'agents_category_status_index',
    'agents_grams_index',
    'agents_activated_template_index',
  ].map(migratedIndex),
  checks: [
    { name: 'agents_version_check', property: 'version', expression: 'version > 0' },
    { name: 'agents_activated_template_id_check', property: 'activatedTemplateId', expression: "activated_template_id <> ''" },
  ],
  properties: {
    organizationId: p.text().primary(),
    environment: environment().primary(),
    id: p.text().primary(),
    ...definitionColumns,
    status: p.enum(['draft', 'active', 'inactive'] as const),
    createdBy: p.text(),
    sourceTemplateId: p.text().default(''),
    /** Set on the agent that a template was activated as; copies of a template have sourceTemplateId alone. */
    activatedTemplateId: p.text().nullable(),
    version: p.integer(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
    foldedName: p.text().lazy(),
    foldedDescription: p.text().lazy(),
    grams: p.array<number>().columnType('integer[]').lazy(),
  },
});

const counterKey = () => ({ organizationId: p.text().primary(), environment: p.text().primary() });
const counter = () => p.bigint('number');
const checkOf = (table: string) => ({ name: `${table}_count_check`, property: 'count' as const, expression: 'count >= 0' });

/** Totals of the lists of agents. All agents of a status are one row, so that no total is a sum over categories. */
export const AgentCountEntity = defineEntity({
  name: 'AgentCount',
  tableName: 'agent_counts',
  checks: [checkOf('agent_counts')],
  properties: { ...counterKey(), status: p.text().primary(), count: counter() },
});

export const AgentCategoryCountEntity = defineEntity({
  name: 'AgentCategoryCount',
  tableName: 'agent_category_counts',
  checks: [checkOf('agent_category_counts')],
  properties: { ...counterKey(), category: p.text().primary(), status: p.text().primary(), count: counter() },
});

/** An agent that callers no longer see, while its conversations are being removed. */
export const DeletedAgentEntity = defineEntity({
  name: 'DeletedAgent',
  tableName: 'deleted_agents',
  indexes: [{ name: 'deleted_agents_due_index', properties: ['due'] }],
  properties: {
    organizationId: p.text().primary(),
    environment: p.text().primary(),
    id: p.text().primary(),
    deletedAt: timestamp(),
    due: timestamp().defaultRaw('now()'),
  },
});
