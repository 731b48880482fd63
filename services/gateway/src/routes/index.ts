import { createUser } from './create-user.ts';
import { getBalance } from './get-balance.ts';
import { getUsageSummary } from './get-usage-summary.ts';
import { getUser } from './get-user.ts';
import { getUserBalance } from './get-user-balance.ts';
import { issueOauthToken } from './issue-oauth-token.ts';
import { issueToken } from './issue-token.ts';
import { listAuditEntries } from './list-audit-entries.ts';
import { listSigningKeys } from './list-signing-keys.ts';
import { listUsage } from './list-usage.ts';
import { listUsers } from './list-users.ts';
import { revokeKey } from './revoke-key.ts';
import type { Route } from './route.ts';
import { setAllocation } from './set-allocation.ts';
import { updateCreditSettings } from './update-credit-settings.ts';
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
  getBalance,
  getUserBalance,
  setAllocation,
  listUsage,
  getUsageSummary,
  updateCreditSettings,
  listSigningKeys,
];
