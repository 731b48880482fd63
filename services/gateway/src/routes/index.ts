import { createUser } from './create-user.ts';
import { getUser } from './get-user.ts';
import { issueOauthToken } from './issue-oauth-token.ts';
import { issueToken } from './issue-token.ts';
import { listAuditEntries } from './list-audit-entries.ts';
import { listSigningKeys } from './list-signing-keys.ts';
import { listUsers } from './list-users.ts';
import { revokeKey } from './revoke-key.ts';
import type { Route } from './route.ts';
import { updateUser } from './update-user.ts';

/** The whole HTTP surface. The application, the OpenAPI document and the tests iterate over it. */
export const routes: readonly Route[] = [
  issueToken,
  issueOauthToken,
  revokeKey,
  listUsers,
  createUser,
  getUser,
  updateUser,
  listAuditEntries,
  listSigningKeys,
];
