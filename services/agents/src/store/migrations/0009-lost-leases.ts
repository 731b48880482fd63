import { migration } from '@agent-service/store';

// Each sweep reads the answers of one state in the order of their due times, so that many of one state delay no other. The collation
// keeps the planner from using the index for look-ups by key, which name a state as well.
const dueByState = `
  create index answers_state_due_index on answers (state collate "C", due);
  drop index answers_due_index;
`;

const lostLeases = 'alter table answers add column lost_leases integer not null default 0';

export const lostLeasesMigration = migration('0009-lost-leases', lostLeases, dueByState);
