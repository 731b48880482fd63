import { deadLettersTable, migration } from '@agent-service/store';

export const deadLetters = migration('0002-dead-letters', deadLettersTable);

export const revokedSigningKeys = migration('0003-revoked-signing-keys', 'alter table signing_keys add column revoked_at timestamptz(3);');

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

// broken_from is covered by the signature of the head. A row in audit_key_start says that keys are in use, and that no chain is old any more.
const auditBreaks = `
  alter table audit_chains add column broken_from bigint;
  create table audit_key_start (is_started boolean primary key default true check (is_started), started_at timestamptz(3) not null default now());
`;

export const auditBreaksMigration = migration('0005-audit-breaks', auditBreaks);

// For pages of users with a role and a status, whose cost must not grow with the users of another status.
export const usersByRoleAndStatus = migration(
  '0006-users-by-role-and-status',
  'create index users_role_status_index on users (organization_id, role, status, created_at desc, id desc);',
);
