import { migration } from '@agent-service/store';

// Entries before have version 0, which is an unkeyed hash. Without a default, an older replica cannot add such entries
// during a rolling update: its senders try again. The chains there are get signed at the next start.
const auditKeys = `
  alter table audit_entries add column key_version integer not null default 0;
  alter table audit_entries alter column key_version drop default;
  alter table audit_chains add column key_version integer, add column mac text;
  create table audit_unsigned_chains (organization_id text primary key);
  insert into audit_unsigned_chains select organization_id from audit_chains;
`;

export const auditKeysMigration = migration('0004-audit-keys', auditKeys);
