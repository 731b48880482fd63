import { migration } from '@agent-service/store';

// A claim has all columns that its audit entries need, because its answer may have been removed by then. Claims of the version before have no
// user. lost_at is the time of the audit entry that the outcome of the change is unknown.
const auditedSteps = `
  alter table answer_steps
    add column user_id text not null default '',
    add column agent_id text not null default '',
    add column conversation_id text not null default '',
    add column request_id text not null default '',
    add column table_name text not null default '',
    add column operation text not null default '',
    add column asked_rows integer not null default 0,
    add column keys_json text not null default '',
    add column lost_at timestamptz(3);
  create index answer_steps_untold_index on answer_steps (claimed_at) where finished_at is null and lost_at is null;
`;

export const auditedStepsMigration = migration('0005-audited-steps', auditedSteps);
