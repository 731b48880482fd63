import type { Implementation } from '@agent-service/contracts';
import { outboxMethods } from '@agent-service/store';
import type { IdentityDeps } from './deps.ts';
import {
  acceptInvitation,
  createInvitation,
  createPasswordReset,
  deleteInvitation,
  getInvitation,
  listInvitations,
  resetPassword,
} from './portal/rpc/invitations.ts';
import { changePassword, setUserPassword } from './portal/rpc/passwords.ts';
import { chooseOrganization, getOrganizationChoice, signInWithProvider } from './portal/rpc/provider-sign-in.ts';
import { endSession, endSessions, issueSessionToken, listSessions, resumeSession } from './portal/rpc/sessions.ts';
import { signIn } from './portal/rpc/sign-in.ts';
import { beginTwoFactor, confirmTwoFactor, removeTwoFactor } from './portal/rpc/two-factor.ts';
import {
  getOauthApplication,
  issueOauthApplication,
  listOauthApplications,
  rotateOauthSecret,
  updateOauthApplication,
} from './rpc/applications.ts';
import { appendAuditEntries, listAuditEntries } from './rpc/audit-log.ts';
import { checkAuditAnchors, listAuditAnchors, verifyAuditChain } from './rpc/audit-verification.ts';
import { authenticate } from './rpc/authenticate.ts';
import { createKey, createOauthClient } from './rpc/credentials.ts';
import { getKey, issueKey, listKeys, rotateKey, updateKey } from './rpc/keys.ts';
import { createOrganization, getOrganization, listOrganizations } from './rpc/organizations.ts';
import { revokeKey, revokeOauthClient } from './rpc/revocation.ts';
import { issueAgentToken, issueClientToken, issueToken, listSigningKeys, revokeSigningKey, rotateSigningKey } from './rpc/tokens.ts';
import { createUser, getSelf, getUser, listAdministrators, listUsers, updateUser } from './rpc/users.ts';

/** Every method of the contract. */
export const implementation = (deps: IdentityDeps): Implementation<'identity'> => ({
  changePassword: changePassword(deps),
  acceptInvitation: acceptInvitation(deps),
  createInvitation: createInvitation(deps),
  createPasswordReset: createPasswordReset(deps),
  deleteInvitation: deleteInvitation(deps),
  getInvitation: getInvitation(deps),
  listInvitations: listInvitations(deps),
  resetPassword: resetPassword(deps),
  beginTwoFactor: beginTwoFactor(deps),
  confirmTwoFactor: confirmTwoFactor(deps),
  removeTwoFactor: removeTwoFactor(deps),
  setUserPassword: setUserPassword(deps),
  endSession: endSession(deps),
  endSessions: endSessions(deps),
  issueSessionToken: issueSessionToken(deps),
  listSessions: listSessions(deps),
  resumeSession: resumeSession(deps),
  signIn: signIn(deps),
  signInWithProvider: signInWithProvider(deps),
  getOrganizationChoice: getOrganizationChoice(deps),
  chooseOrganization: chooseOrganization(deps),
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
  listOrganizations: listOrganizations(deps),
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
