import type { AgentStatus } from '@agent-service/contracts/agents/fields';

/** What an agent is counted by. */
export interface Counted {
  readonly status: AgentStatus;
  readonly category: string;
}

export interface CountChange extends Counted {
  readonly by: 1 | -1;
}

/** How the counters move when an agent goes from one place to another; nowhere is before it is made and after it is gone. */
export function countChanges(before: Counted | undefined, after: Counted | undefined): CountChange[] {
  if (before?.status === after?.status && before?.category === after?.category) return [];
  const changes: CountChange[] = [];
  if (before) changes.push({ status: before.status, category: before.category, by: -1 });
  if (after) changes.push({ status: after.status, category: after.category, by: 1 });
  return changes;
}
