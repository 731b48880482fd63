import { type AgentDefinition, type AgentStatus, type DefinitionChanges, fieldEntries } from '@agent-service/contracts/agents/fields';
import type { Tenant } from '@agent-service/contracts/callers/principal';
import { changedValues } from '@agent-service/contracts/changes';

export interface Agent extends AgentDefinition {
  readonly id: string;
  readonly status: AgentStatus;
  readonly createdBy: string;
  /** Empty for an agent that was not made from a template. */
  readonly sourceTemplateId: string;
  /** Goes up with every change. */
  readonly version: number;
  /** Milliseconds since 1970, as all times here. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** An agent in a list. */
export type AgentSummary = Pick<Agent, 'id' | 'name' | 'description' | 'category' | 'status' | 'model' | 'createdAt' | 'updatedAt'>;

export interface Origin {
  readonly id: string;
  readonly createdBy: string;
  readonly createdAt: number;
  readonly sourceTemplateId?: string;
}

/** A new agent is a draft until a caller activates it. */
export const createDraft = (definition: AgentDefinition, { id, createdBy, createdAt, sourceTemplateId = '' }: Origin): Agent => ({
  ...definition,
  id,
  status: 'draft',
  createdBy,
  sourceTemplateId,
  version: 1,
  createdAt,
  updatedAt: createdAt,
});

/** The fields to change; others stay. */
export type AgentChanges = DefinitionChanges & { readonly status?: AgentStatus | undefined };

export type ChangedField = keyof AgentChanges;

/** Once out of its draft, an agent does not go back. */
const allowedTransitions: Readonly<Record<AgentStatus, readonly AgentStatus[]>> = {
  draft: ['draft', 'active'],
  active: ['active', 'inactive'],
  inactive: ['inactive', 'active'],
};

export type ChangeOutcome =
  | { readonly kind: 'changed'; readonly agent: Agent; readonly fields: readonly ChangedField[] }
  | { readonly kind: 'refused'; readonly from: AgentStatus; readonly to: AgentStatus };

/**
 * The agent after the change, with the fields whose values differ. Version and time stay when none does; otherwise both go up, the time by
 * a millisecond at least.
 */
export function changeAgent(agent: Agent, changes: AgentChanges, now: number): ChangeOutcome {
  const to = changes.status ?? agent.status;
  if (!allowedTransitions[agent.status].includes(to)) return { kind: 'refused', from: agent.status, to };
  const values = changedValues(agent, changes);
  const fields = Object.keys(values) as ChangedField[];
  if (fields.length === 0) return { kind: 'changed', agent, fields };
  const updatedAt = Math.max(now, agent.updatedAt + 1);
  return { kind: 'changed', agent: { ...agent, ...values, version: agent.version + 1, updatedAt }, fields };
}

/** The counters of lists tell agents apart by these. */
export interface Counted {
  readonly status: AgentStatus;
  readonly category: string;
}

export interface CountChange extends Counted {
  readonly by: 1 | -1;
}

/** The counter changes of a created, changed or deleted agent; undefined before the creation and after the deletion. */
export function countChanges(before: Counted | undefined, after: Counted | undefined): CountChange[] {
  if (before?.status === after?.status && before?.category === after?.category) return [];
  const changes: CountChange[] = [];
  if (before) changes.push({ status: before.status, category: before.category, by: -1 });
  if (after) changes.push({ status: after.status, category: after.category, by: 1 });
  return changes;
}

/** Changes of agents that webhooks and the audit log report. */
export type AgentEvent =
  | { readonly type: 'agent.created'; readonly agent: Agent }
  | { readonly type: 'agent.updated'; readonly agent: Agent; readonly fields: readonly ChangedField[] }
  | { readonly type: 'agent.deleted'; readonly agent: Agent; readonly deletedAt: number };

/** The paths of the fields in the API. */
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

/** Grams of four characters span two words, so that common words in a rare order have rare grams. */
const maxGramLength = 4;
/** Matches of these grams are compared with the search text; a further gram would cost more than the matches it excludes. */
const maxNeeded = 12;
/** With this many rare grams, common ones are not needed. */
const enoughRare = 4;

/**
 * The index of an agent's folded texts: every run of one to four characters, hashed together with the tenant. A search therefore reads
 * no rows of other tenants, a short search is as exact as a long one, and the database needs no extension.
 */
export function gramsOf(tenant: Tenant, ...folded: readonly string[]): number[] {
  const start = seedOf(tenant);
  const grams = new Set<number>();
  for (const text of folded) {
    for (let length = 1; length <= maxGramLength; length += 1) for (const gram of runs(text, length)) grams.add(hash(start, gram));
  }
  return [...grams];
}

/** Grams that every match has. Rows with all of them must still be compared with the search text. */
export function gramsNeeded(tenant: Tenant, foldedSearch: string): number[] {
  const start = seedOf(tenant);
  const all = [...new Set(runs(foldedSearch, Math.min(maxGramLength, [...foldedSearch].length)))];
  const rare = selectEvenly(all.filter(isRare), maxNeeded);
  const common = rare.length >= enoughRare ? [] : all.filter((gram) => !isRare(gram));
  return [...rare, ...selectEvenly(common, maxNeeded - rare.length)].map((gram) => hash(start, gram));
}

/** Digits and the gaps between words are rarer than the letters inside words. */
const isRare = (gram: string): boolean => /\d|\S\s+\S/.test(gram);

/** At most so many grams, from the whole length. */
function selectEvenly(grams: readonly string[], max: number): string[] {
  const step = Math.max(1, grams.length / max);
  return grams.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
}

function runs(text: string, length: number): string[] {
  const letters = [...text];
  return Array.from({ length: Math.max(0, letters.length - length + 1) }, (_, first) => letters.slice(first, first + length).join(''));
}

const seedOf = ({ organizationId, environment }: Tenant): number => hash(0x811c9dc5, `${organizationId}\0${environment}\0`);

/** FNV-1a over UTF-16 units with a final mix, as a signed number of 32 bits. */
function hash(start: number, text: string): number {
  let mixed = start;
  for (let index = 0; index < text.length; index += 1) mixed = Math.imul(mixed ^ text.charCodeAt(index), 0x01000193);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  return (mixed ^ (mixed >>> 13)) | 0;
}
