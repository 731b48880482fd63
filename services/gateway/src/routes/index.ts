import type { Route } from '../routing/route.ts';
import { createAgent, deleteAgent, getAgent, listAgents, updateAgent } from './agents.ts';
import { issueAgentToken, issueOauthToken, issueToken, listSigningKeys, revokeKey } from './authentication.ts';
import { deleteConversation, getConversation, listConversations, listMessages, updateConversation } from './conversations.ts';
import {
  createKey,
  createOauthApplication,
  getKey,
  getOauthApplication,
  getSelf,
  listKeys,
  listOauthApplications,
  revokeOauthApplication,
  rotateKey,
  rotateOauthSecret,
  updateKey,
  updateOauthApplication,
} from './credentials.ts';
import {
  getBalance,
  getCreditSettings,
  getUsageSummary,
  getUserBalance,
  listUsage,
  setAllocation,
  updateCreditSettings,
} from './credits.ts';
import { getDataSource } from './data-source.ts';
import { cancelAnswer, getMessage, sendMessage, setFeedback, streamMessage } from './messages.ts';
import { activateTemplate, deactivateTemplate, duplicateTemplate, getTemplate, listTemplates } from './templates.ts';
import { createUser, getUser, listAuditEntries, listUsers, updateUser } from './users.ts';
import {
  createWebhook,
  deleteWebhook,
  listDeliveries,
  listWebhooks,
  redeliver,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
} from './webhooks.ts';

/** The HTTP surface without webhooks. The application, the OpenAPI document and the tests iterate over it. */
export const routes: readonly Route[] = [
  issueToken,
  issueOauthToken,
  revokeKey,
  getSelf,
  listKeys,
  createKey,
  getKey,
  updateKey,
  rotateKey,
  listOauthApplications,
  createOauthApplication,
  getOauthApplication,
  updateOauthApplication,
  rotateOauthSecret,
  revokeOauthApplication,
  listAgents,
  createAgent,
  getAgent,
  updateAgent,
  deleteAgent,
  issueAgentToken,
  sendMessage,
  streamMessage,
  getMessage,
  cancelAnswer,
  setFeedback,
  listConversations,
  getConversation,
  updateConversation,
  deleteConversation,
  listMessages,
  getDataSource,
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
  getCreditSettings,
  updateCreditSettings,
  listSigningKeys,
];

/** Routes that exist only where webhooks are on; elsewhere their paths are unknown. */
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

/** The HTTP surface where webhooks are on. */
export const everyRoute: readonly Route[] = [...routes, ...webhookRoutes];
