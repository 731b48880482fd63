import type { Agent, Definition, Status } from './agent.ts';

/** What a change names; what it does not name stays. */
export type Changes = { readonly [Field in keyof Definition]?: Definition[Field] | undefined } & { readonly status?: Status | undefined };

export type ChangedField = keyof Changes;

/** Once out of its draft, an agent does not go back. */
const mayBecome: Readonly<Record<Status, readonly Status[]>> = {
  draft: ['draft', 'active'],
  active: ['active', 'inactive'],
  inactive: ['inactive', 'active'],
};

export type Changed =
  | { readonly kind: 'changed'; readonly agent: Agent; readonly fields: readonly ChangedField[] }
  | { readonly kind: 'refused'; readonly from: Status; readonly to: Status };

/**
 * The agent after the change, with the fields that are not what they were. A change that changes nothing leaves version and time
 * alone; any other moves both, the time by a millisecond at least.
 */
export function change(agent: Agent, changes: Changes, now: number): Changed {
  const to = changes.status ?? agent.status;
  if (!mayBecome[agent.status].includes(to)) return { kind: 'refused', from: agent.status, to };
  const fields = (Object.keys(changes) as ChangedField[]).filter(
    (field) => changes[field] !== undefined && !same(changes[field], agent[field]),
  );
  if (fields.length === 0) return { kind: 'changed', agent, fields };
  const named = Object.fromEntries(fields.map((field) => [field, changes[field]]));
  const updatedAt = Math.max(now, agent.updatedAt + 1);
  return { kind: 'changed', agent: { ...agent, ...named, version: agent.version + 1, updatedAt }, fields };
}

const same = (one: unknown, other: unknown): boolean =>
  Array.isArray(one) && Array.isArray(other)
    ? one.length === other.length && one.every((value, index) => value === other[index])
    : one === other;
