import { migration } from '@agent-service/store';

// A page of users of one role and one status is read along it, however many have another status.
export const usersByRoleAndStatus = migration(
  '0006-users-by-role-and-status',
  'create index users_role_status_index on users (organization_id, role, status, created_at desc, id desc);',
);
