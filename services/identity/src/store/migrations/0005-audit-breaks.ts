import { migration } from '@agent-service/store';

// broken_from is covered by the signature of the head. A row in audit_key_start says that keys are in use, and that no chain is old any more.
const auditBreaks = `
  alter table audit_chains add column broken_from bigint;
  create table audit_key_start (is_started boolean primary key default true check (is_started), started_at timestamptz(3) not null default now());
`;

export const auditBreaksMigration = migration('0005-audit-breaks', auditBreaks);
