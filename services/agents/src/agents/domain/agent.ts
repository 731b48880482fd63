import type { AgentDefinition, AgentStatus, DefinitionChanges } from '@agent-service/contracts/agents/fields';

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
  const fields = (Object.keys(changes) as ChangedField[]).filter(
    (field) => changes[field] !== undefined && !isEqual(changes[field], agent[field]),
  );
  if (fields.length === 0) return { kind: 'changed', agent, fields };
  const values = Object.fromEntries(fields.map((field) => [field, changes[field]]));
  const updatedAt = Math.max(now, agent.updatedAt + 1);
  return { kind: 'changed', agent: { ...agent, ...values, version: agent.version + 1, updatedAt }, fields };
}

const isEqual = (one: unknown, other: unknown): boolean =>
  Array.isArray(one) && Array.isArray(other)
    ? one.length === other.length && one.every((value, index) => value === other[index])
    : one === other;
