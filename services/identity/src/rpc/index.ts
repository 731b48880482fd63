import type { Implementation } from '@agent-service/contracts';
import { outboxMethods } from '@agent-service/store';
import type { IdentityContext } from '../context.ts';
import { appendAuditEntries, listAuditEntries } from './audit-log.ts';
import { checkAuditAnchors, listAuditAnchors, verifyAuditChain } from './audit-verification.ts';
import { authenticate } from './authenticate.ts';
import { createKey, createOauthClient } from './credentials.ts';
import { createOrganization, getOrganization } from './organizations.ts';
import { revokeKey, revokeOauthClient } from './revocation.ts';
import { issueClientToken, issueToken, listSigningKeys, revokeSigningKey, rotateSigningKey } from './tokens.ts';
import { createUser, getUser, listAdministrators, listUsers, updateUser } from './users.ts';

/** Every method of the contract. */
export const implementation = (context: IdentityContext): Implementation<'identity'> => ({
  appendAuditEntries: appendAuditEntries(context),
  authenticate: authenticate(context),
  checkAuditAnchors: checkAuditAnchors(context),
  createKey: createKey(context),
  createOauthClient: createOauthClient(context),
  createOrganization: createOrganization(context),
  createUser: createUser(context),
  getOrganization: getOrganization(context),
  getUser: getUser(context),
  issueClientToken: issueClientToken(context),
  issueToken: issueToken(context),
  listAdministrators: listAdministrators(context),
  listAuditAnchors: listAuditAnchors(context),
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
