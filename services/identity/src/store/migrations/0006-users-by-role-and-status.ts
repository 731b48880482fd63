import { migration } from '@agent-service/store';

// For pages of users with a role and a status, whose cost must not grow with the users of another status.
export const usersByRoleAndStatus = migration(
  '0006-users-by-role-and-status',
  'create index users_role_status_index on users (organization_id, role, status, created_at desc, id desc);',
);
