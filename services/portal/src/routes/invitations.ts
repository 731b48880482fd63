import { type Client, required } from '@agent-service/contracts';
import { jsonReply } from '@agent-service/http/replies/reply';
import { z } from 'zod';
import { administratorRoute, pathId, publicRoute } from './route.ts';
import { countOutcome, password, signedInReply } from './session.ts';

type Invitation = NonNullable<Awaited<ReturnType<Client<'identity'>['getInvitation']>>['invitation']>;

const describe = ({ id, email, name, role, createdAt, expiresAt }: Invitation) => ({
  id,
  email,
  name,
  role,
  created_at: createdAt,
  expires_at: expiresAt,
});

const token = z.string().min(1).max(100);

/** The one place of a link: neither it nor its token is stored. */
const linkTo = (origin: string, page: 'invitation' | 'password-reset', linkToken: string): string =>
  `${origin}/${page}?token=${encodeURIComponent(linkToken)}`;

export const listInvitations = administratorRoute({
  method: 'GET',
  path: '/api/invitations',
  async handler({ sessionToken }, { identity }) {
    const { invitations } = await identity.listInvitations({ sessionToken });
    return jsonReply(200, { data: invitations.map(describe) });
  },
});

export const createInvitation = administratorRoute({
  method: 'POST',
  path: '/api/invitations',
  body: z.strictObject({ email: z.string().max(254), name: z.string().max(100).default(''), role: z.enum(['admin', 'member']) }),
  async handler({ sessionToken, body, origin }, { identity }) {
    const created = await identity.createInvitation({ sessionToken, ...body });
    const data = { ...describe(required(created.invitation)), link: linkTo(origin, 'invitation', created.token) };
    return jsonReply(201, { data });
  },
});

export const deleteInvitation = administratorRoute({
  method: 'DELETE',
  path: '/api/invitations/{id}',
  async handler(request, { identity }) {
    await identity.deleteInvitation({ sessionToken: request.sessionToken, invitationId: pathId(request) });
    return { status: 204 };
  },
});

/** For the page that a link leads to. */
export const lookUpInvitation = publicRoute({
  method: 'GET',
  path: '/api/invitations/lookup',
  async handler({ exchange }, { identity }) {
    const sent = exchange.request.query['token'];
    const reply = await identity.getInvitation({ token: typeof sent === 'string' ? sent.slice(0, 100) : '' });
    const { email, name, role, organizationId, organizationName, expiresAt } = required(reply.invitation);
    const organization = { id: organizationId, name: organizationName };
    return jsonReply(200, { data: { email, name, role, organization, expires_at: expiresAt } });
  },
});

export const acceptInvitation = publicRoute({
  method: 'POST',
  path: '/api/invitations/accept',
  body: z.strictObject({ token, name: z.string().max(100), password }),
  async handler(request, backends) {
    const { client, sessionToken: previousSessionToken } = request;
    const accepted = backends.identity.acceptInvitation({ ...request.body, client, previousSessionToken });
    const { opened } = await countOutcome(accepted, 'invitation', backends);
    return signedInReply(opened, request, backends);
  },
});

export const createResetLink = administratorRoute({
  method: 'POST',
  path: '/api/users/{id}/reset-link',
  async handler(request, { identity }) {
    const created = await identity.createPasswordReset({ sessionToken: request.sessionToken, userId: pathId(request) });
    return jsonReply(201, { data: { link: linkTo(request.origin, 'password-reset', created.token), expires_at: created.expiresAt } });
  },
});

export const resetPassword = publicRoute({
  method: 'POST',
  path: '/api/password-reset',
  body: z.strictObject({ token, password }),
  async handler({ body, client }, { identity }) {
    await identity.resetPassword({ ...body, client });
    return { status: 204 };
  },
});
