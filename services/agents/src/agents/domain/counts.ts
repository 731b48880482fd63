import type { AgentStatus } from '@agent-service/contracts/agents/fields';

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
