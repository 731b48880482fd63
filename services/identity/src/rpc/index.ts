import type { Implementation } from '@agent-service/contracts';
import { outboxMethods } from '@agent-service/store';
import type { IdentityDeps } from '../deps.ts';
import {
  getOauthApplication,
  issueOauthApplication,
  listOauthApplications,
  rotateOauthSecret,
  updateOauthApplication,
} from './applications.ts';
import { appendAuditEntries, listAuditEntries } from './audit-log.ts';
import { checkAuditAnchors, listAuditAnchors, verifyAuditChain } from './audit-verification.ts';
import { authenticate } from './authenticate.ts';
import { createKey, createOauthClient } from './credentials.ts';
import { getKey, issueKey, listKeys, rotateKey, updateKey } from './keys.ts';
import { createOrganization, getOrganization } from './organizations.ts';
import { revokeKey, revokeOauthClient } from './revocation.ts';
import { getSelf } from './self.ts';
import { issueAgentToken, issueClientToken, issueToken, listSigningKeys, revokeSigningKey, rotateSigningKey } from './tokens.ts';
import { createUser, getUser, listAdministrators, listUsers, updateUser } from './users.ts';

/** Every method of the contract. */
export const implementation = (deps: IdentityDeps): Implementation<'identity'> => ({
  appendAuditEntries: appendAuditEntries(deps),
  authenticate: authenticate(deps),
  checkAuditAnchors: checkAuditAnchors(deps),
  createKey: createKey(deps),
  createOauthClient: createOauthClient(deps),
  createOrganization: createOrganization(deps),
  createUser: createUser(deps),
  getKey: getKey(deps),
  getOauthApplication: getOauthApplication(deps),
  getOrganization: getOrganization(deps),
  getSelf: getSelf(deps),
  getUser: getUser(deps),
  issueAgentToken: issueAgentToken(deps),
  issueClientToken: issueClientToken(deps),
  issueKey: issueKey(deps),
  issueOauthApplication: issueOauthApplication(deps),
  issueToken: issueToken(deps),
  listAdministrators: listAdministrators(deps),
  listAuditAnchors: listAuditAnchors(deps),
  listAuditEntries: listAuditEntries(deps),
  listKeys: listKeys(deps),
  listOauthApplications: listOauthApplications(deps),
  listSigningKeys: listSigningKeys(deps),
  listUsers: listUsers(deps),
  revokeKey: revokeKey(deps),
  revokeOauthClient: revokeOauthClient(deps),
  revokeSigningKey: revokeSigningKey(deps),
  rotateKey: rotateKey(deps),
  rotateOauthSecret: rotateOauthSecret(deps),
  rotateSigningKey: rotateSigningKey(deps),
  updateKey: updateKey(deps),
  updateOauthApplication: updateOauthApplication(deps),
  updateUser: updateUser(deps),
  verifyAuditChain: verifyAuditChain(deps),
  ...outboxMethods(deps.store, () => deps.auditRelay.nudge()),
});
