import type { Implementation } from '@agent-service/contracts';
import { outboxMethods } from '@agent-service/store';
import type { IdentityContext } from '../context.ts';
import { appendAuditEntries } from './append-audit-entries.ts';
import { authenticate } from './authenticate.ts';
import { checkAuditAnchors } from './check-audit-anchors.ts';
import { createKey } from './create-key.ts';
import { createOauthClient } from './create-oauth-client.ts';
import { createOrganization } from './create-organization.ts';
import { createUser } from './create-user.ts';
import { getOrganization } from './get-organization.ts';
import { getUser } from './get-user.ts';
import { issueClientToken } from './issue-client-token.ts';
import { issueToken } from './issue-token.ts';
import { listAdministrators } from './list-administrators.ts';
import { listAuditAnchors } from './list-audit-anchors.ts';
import { listAuditEntries } from './list-audit-entries.ts';
import { listSigningKeys } from './list-signing-keys.ts';
import { listUsers } from './list-users.ts';
import { revokeKey } from './revoke-key.ts';
import { revokeOauthClient } from './revoke-oauth-client.ts';
import { revokeSigningKey } from './revoke-signing-key.ts';
import { rotateSigningKey } from './rotate-signing-key.ts';
import { updateUser } from './update-user.ts';
import { verifyAuditChain } from './verify-audit-chain.ts';

/** Every method of the contract, each in the file of its name. */
export const implementation = (context: IdentityContext): Implementation<'identity'> => ({
  appendAuditEntries: appendAuditEntries(context),
  authenticate: authenticate(context),
  checkAuditAnchors: checkAuditAnchors(context),
  listAuditAnchors: listAuditAnchors(context),
  createKey: createKey(context),
  createOauthClient: createOauthClient(context),
  createOrganization: createOrganization(context),
  createUser: createUser(context),
  getOrganization: getOrganization(context),
  getUser: getUser(context),
  issueClientToken: issueClientToken(context),
  issueToken: issueToken(context),
  listAdministrators: listAdministrators(context),
  listAuditEntries: listAuditEntries(context),
  listSigningKeys: listSigningKeys(context),
  listUsers: listUsers(context),
  revokeKey: revokeKey(context),
  revokeOauthClient: revokeOauthClient(context),
  revokeSigningKey: revokeSigningKey(context),
  rotateSigningKey: rotateSigningKey(context),
  updateUser: updateUser(context),
  verifyAuditChain: verifyAuditChain(context),
  ...outboxMethods(context.store, () => context.auditRelay.nudge()),
});
