import { migration } from '@agent-service/store';

// The sweep that removes a deleted agent's conversations looks at the agent at this time, and later again while answers are unfinished.
const dueColumn = `
  alter table deleted_agents add column due timestamptz(3) not null default now();
  create index deleted_agents_due_index on deleted_agents (due);
  drop index deleted_agents_deleted_at_index;
`;

export const deletedAgentsDue = migration('0010-deleted-agents-due', dueColumn);
