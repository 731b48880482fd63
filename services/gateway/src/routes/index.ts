import { cancelAnswer } from './cancel-answer.ts';
import { createAgent } from './create-agent.ts';
import { createUser } from './create-user.ts';
import { deleteAgent } from './delete-agent.ts';
import { getAgent } from './get-agent.ts';
import { getBalance } from './get-balance.ts';
import { getMessage } from './get-message.ts';
import { getUsageSummary } from './get-usage-summary.ts';
import { getUser } from './get-user.ts';
import { getUserBalance } from './get-user-balance.ts';
import { issueOauthToken } from './issue-oauth-token.ts';
import { issueToken } from './issue-token.ts';
import { listAgents } from './list-agents.ts';
import { listAuditEntries } from './list-audit-entries.ts';
import { listConversations } from './list-conversations.ts';
import { listMessages } from './list-messages.ts';
import { listSigningKeys } from './list-signing-keys.ts';
import { listUsage } from './list-usage.ts';
import { listUsers } from './list-users.ts';
import { revokeKey } from './revoke-key.ts';
import type { Route } from './route.ts';
import { sendMessage } from './send-message.ts';
import { setAllocation } from './set-allocation.ts';
import { activateTemplate } from './templates/activate-template.ts';
import { deactivateTemplate } from './templates/deactivate-template.ts';
import { duplicateTemplate } from './templates/duplicate-template.ts';
import { getTemplate } from './templates/get-template.ts';
import { listTemplates } from './templates/list-templates.ts';
import { updateAgent } from './update-agent.ts';
import { updateCreditSettings } from './update-credit-settings.ts';
import { updateUser } from './update-user.ts';
import { webhookRoutes } from './webhooks/index.ts';

/** The HTTP surface without webhooks. The application, the OpenAPI document and the tests iterate over it. */
export const routes: readonly Route[] = [
  issueToken,
  issueOauthToken,
  revokeKey,
  listAgents,
  createAgent,
  getAgent,
  updateAgent,
  deleteAgent,
  sendMessage,
  getMessage,
  cancelAnswer,
  listConversations,
  listMessages,
  listTemplates,
  getTemplate,
  activateTemplate,
  deactivateTemplate,
  duplicateTemplate,
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

/** The whole of it, where webhooks are on. */
export const everyRoute: readonly Route[] = [...routes, ...webhookRoutes];
