import type { Route } from '../routing/route.ts';
import { createAgent } from './agents/create-agent.ts';
import { deleteAgent } from './agents/delete-agent.ts';
import { getAgent } from './agents/get-agent.ts';
import { listAgents } from './agents/list-agents.ts';
import { updateAgent } from './agents/update-agent.ts';
import { issueOauthToken } from './authentication/issue-oauth-token.ts';
import { issueToken } from './authentication/issue-token.ts';
import { listSigningKeys } from './authentication/list-signing-keys.ts';
import { revokeKey } from './authentication/revoke-key.ts';
import { cancelAnswer } from './conversations/cancel-answer.ts';
import { getMessage } from './conversations/get-message.ts';
import { listConversations } from './conversations/list-conversations.ts';
import { listMessages } from './conversations/list-messages.ts';
import { sendMessage } from './conversations/send-message.ts';
import { getBalance } from './credits/get-balance.ts';
import { getUsageSummary } from './credits/get-usage-summary.ts';
import { getUserBalance } from './credits/get-user-balance.ts';
import { listUsage } from './credits/list-usage.ts';
import { setAllocation } from './credits/set-allocation.ts';
import { updateCreditSettings } from './credits/update-credit-settings.ts';
import { activateTemplate } from './templates/activate-template.ts';
import { deactivateTemplate } from './templates/deactivate-template.ts';
import { duplicateTemplate } from './templates/duplicate-template.ts';
import { getTemplate } from './templates/get-template.ts';
import { listTemplates } from './templates/list-templates.ts';
import { createUser } from './users/create-user.ts';
import { getUser } from './users/get-user.ts';
import { listAuditEntries } from './users/list-audit-entries.ts';
import { listUsers } from './users/list-users.ts';
import { updateUser } from './users/update-user.ts';
import { createWebhook } from './webhooks/create-webhook.ts';
import { deleteWebhook } from './webhooks/delete-webhook.ts';
import { listDeliveries } from './webhooks/list-deliveries.ts';
import { listWebhooks } from './webhooks/list-webhooks.ts';
import { redeliver } from './webhooks/redeliver.ts';
import { rotateWebhookSecret } from './webhooks/rotate-webhook-secret.ts';
import { testWebhook } from './webhooks/test-webhook.ts';
import { updateWebhook } from './webhooks/update-webhook.ts';

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

/** They are there only where webhooks are on: elsewhere their paths are unknown ones. */
export const webhookRoutes: readonly Route[] = [
  createWebhook,
  listWebhooks,
  updateWebhook,
  deleteWebhook,
  rotateWebhookSecret,
  testWebhook,
  listDeliveries,
  redeliver,
];

/** The whole of it, where webhooks are on. */
export const everyRoute: readonly Route[] = [...routes, ...webhookRoutes];
