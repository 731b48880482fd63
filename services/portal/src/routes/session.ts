import { type Client, required, ServiceError } from '@agent-service/contracts';
import { jsonReply, type Reply } from '@agent-service/http/replies/reply';
import { z } from 'zod';
import { csrfTokenOf } from '../sessions/same-origin.ts';
import type { Session } from '../sessions/sessions.ts';
import { type Backends, type PortalRequest, pathId, publicRoute, userRoute } from './route.ts';

const toSessionData = (
  { user, organizationId, organizationName, twoFactor, hasPassword, expiresAt, token }: Session,
  { features }: Backends,
) => ({
  user: { id: user.id, name: user.name, email: user.email, role: user.role },
  organization: { id: organizationId, name: organizationName },
  csrf_token: csrfTokenOf(token),
  features,
  two_factor: twoFactor,
  has_password: hasPassword,
  expires_at: expiresAt,
});

type Opened = NonNullable<Awaited<ReturnType<Client<'identity'>['signIn']>>['opened']>;

/** Counts the outcome of an attempt to sign in. */
export async function countOutcome<T>(
  work: Promise<T>,
  method: Parameters<Backends['countSignIn']>[0],
  { countSignIn }: Backends,
): Promise<T> {
  try {
    const result = await work;
    countSignIn(method, 'success');
    return result;
  } catch (cause) {
    countSignIn(method, ServiceError.from(cause).code);
    throw cause;
  }
}

/** The cookie that gives the browser the token of its new session. It is never one that the browser brought. */
export function signedInCookie(opened: Opened | null | undefined, { sessionToken }: PortalRequest, { sessions, cookie }: Backends): string {
  sessions.forget(sessionToken);
  return cookie.set(required(opened).sessionToken);
}

export function signedInReply(opened: Opened | null | undefined, request: PortalRequest, backends: Backends): Reply {
  const { sessionToken: token, session } = required(opened);
  const { user, ...rest } = required(session);
  const data = toSessionData({ ...rest, user: required(user), token }, backends);
  return { ...jsonReply(201, { data }), headers: ['Set-Cookie', signedInCookie(opened, request, backends)] };
}

export const getSession = publicRoute({
  method: 'GET',
  path: '/api/session',
  async handler({ sessionToken }, backends) {
    // A page reads its session again after a change of the user.
    backends.sessions.forget(sessionToken);
    try {
      return jsonReply(200, { data: toSessionData(await backends.sessions.resume(sessionToken), backends) });
    } catch (cause) {
      if (ServiceError.from(cause).code !== 'unauthorized') throw cause;
      throw new ServiceError('unauthorized', { details: { features: backends.features }, cause });
    }
  },
});

export const password = z.string().max(1_024);

export const createSession = publicRoute({
  method: 'POST',
  path: '/api/session',
  body: z.strictObject({
    email: z.string().max(254),
    password,
    code: z.string().max(64).default(''),
    organization_id: z.string().max(128).default(''),
  }),
  async handler(request, backends) {
    const { email, password, code, organization_id: organizationId } = request.body;
    const { client, sessionToken: previousSessionToken } = request;
    const attempt = { email, password, code, organizationId, client, previousSessionToken };
    const { opened } = await countOutcome(backends.identity.signIn(attempt), 'password', backends);
    return signedInReply(opened, request, backends);
  },
});

/** Signs out. Without a session there is nothing to end, and the browser forgets its cookie. */
export const deleteSession = publicRoute({
  method: 'DELETE',
  path: '/api/session',
  async handler({ sessionToken }, { identity, sessions, cookie }) {
    sessions.forget(sessionToken);
    if (sessionToken !== '') await identity.endSession({ sessionToken }).catch(ignoreEnded);
    // Another request may have asked for it in the meantime.
    sessions.forget(sessionToken);
    return { status: 204, headers: ['Set-Cookie', cookie.clear] };
  },
});

function ignoreEnded(cause: unknown): void {
  if (ServiceError.from(cause).code !== 'unauthorized') throw cause;
}

export const listSessions = userRoute({
  method: 'GET',
  path: '/api/sessions',
  async handler({ sessionToken }, { identity }) {
    const { sessions } = await identity.listSessions({ sessionToken });
    const data = sessions.map(({ id, createdAt, lastUsedAt, userAgent, address, current }) => ({
      id,
      created_at: createdAt,
      last_used_at: lastUsedAt,
      user_agent: userAgent,
      address,
      current,
    }));
    return jsonReply(200, { data });
  },
});

export const deleteSessionById = userRoute({
  method: 'DELETE',
  path: '/api/sessions/{id}',
  async handler(request, { identity, sessions, cookie }) {
    const { sessionToken, session } = request;
    const sessionId = pathId(request);
    await identity.endSession({ sessionToken, sessionId });
    if (sessionId !== session.id) return { status: 204 };
    sessions.forget(sessionToken);
    return { status: 204, headers: ['Set-Cookie', cookie.clear] };
  },
});

export const deleteSessions = userRoute({
  method: 'DELETE',
  path: '/api/sessions',
  async handler({ sessionToken }, { identity, sessions, cookie }) {
    sessions.forget(sessionToken);
    await identity.endSessions({ sessionToken });
    sessions.forget(sessionToken);
    return { status: 204, headers: ['Set-Cookie', cookie.clear] };
  },
});

export const changePassword = userRoute({
  method: 'PUT',
  path: '/api/password',
  body: z.strictObject({ current_password: password.default(''), new_password: password }),
  async handler({ sessionToken, body }, { identity, sessions }) {
    await identity.changePassword({ sessionToken, currentPassword: body.current_password, newPassword: body.new_password });
    sessions.forget(sessionToken);
    return { status: 204 };
  },
});
