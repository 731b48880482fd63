import { jsonReply } from '@agent-service/http/replies/reply';
import * as dataSource from './data-source.ts';
import * as invitations from './invitations.ts';
import * as openidConnect from './openid-connect.ts';
import { publicRoute } from './route.ts';
import * as session from './session.ts';
import * as twoFactor from './two-factor.ts';

const status = publicRoute({
  method: 'GET',
  path: '/api/status',
  handler: async (_request, { apiAddress }) => jsonReply(200, { data: { status: 'ok', api_address: apiAddress } }),
});

/** Every route of the portal but those that are forwarded to the gateway. */
export const routes = [
  status,
  session.getSession,
  session.createSession,
  session.deleteSession,
  session.listSessions,
  session.deleteSessions,
  session.deleteSessionById,
  session.changePassword,
  invitations.lookUpInvitation,
  invitations.listInvitations,
  invitations.createInvitation,
  invitations.deleteInvitation,
  invitations.acceptInvitation,
  invitations.createResetLink,
  invitations.resetPassword,
  twoFactor.beginTwoFactor,
  twoFactor.confirmTwoFactor,
  twoFactor.removeTwoFactor,
  ...dataSource.dataSourceRoutes,
  openidConnect.startSignIn,
  openidConnect.finishSignIn,
  openidConnect.getOrganizationChoice,
  openidConnect.chooseOrganization,
];
