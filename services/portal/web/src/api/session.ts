import { type QueryClient, queryOptions, useQuery } from '@tanstack/react-query';
import { portal, setCsrfToken } from './client.ts';
import { ApiError } from './errors.ts';
import { restoreUnsent, storeUnsent } from './unsent.ts';

export interface Features {
  webhooks: boolean;
  openid_connect: boolean;
}

export interface Session {
  user: { id: string; name: string; email: string; role: 'admin' | 'member' };
  organization: { id: string; name: string };
  csrf_token: string;
  features: Features;
  two_factor: boolean;
  /** False for users who sign in only at an identity provider. */
  has_password: boolean;
  expires_at: string;
}

export const sessionKey = ['session'];

/** Loads a new document, so that no reply, answer or text of a user stays in the memory of the tab for the next one. */
export function leaveSession(path: string): void {
  removeEventListener('pagehide', storeUnsentOfUser);
  location.replace(path);
}

/** As above, to the sign-in page, which leads back here. */
export const leaveToSignIn = (): void =>
  leaveSession(`/sign-in?return_to=${encodeURIComponent(location.pathname + location.search + location.hash)}`);

/** The user whose replies this document holds. */
let owner: string | undefined;

/** Takes over a session. Another tab of the browser may have signed in as another user: then this document ends, and changes nothing with that session. */
function adoptSession({ user, organization, csrf_token: token }: Session): void {
  const current = `${organization.id}/${user.id}`;
  if (owner !== undefined && owner !== current) leaveSession('/live');
  else {
    if (owner === undefined) restoreUnsent(current);
    owner = current;
    setCsrfToken(token);
  }
}

/** Shows the pages of a user who has just signed in. */
export function openSession(client: QueryClient, session: Session): void {
  adoptSession(session);
  client.setQueryData(sessionKey, session);
}

/** To be called when a session ends by itself, while its forms are still on the page. */
export function storeUnsentOfUser(): void {
  if (owner !== undefined) storeUnsent(owner);
}

/**
 * To be called when only a new document can go on, as after a script that could not be loaded. The input is stored when this document ends, so that
 * it is not what was typed at the time of the failure; a sign-out stores nothing.
 */
export const storeUnsentAtEnd = (): void => addEventListener('pagehide', storeUnsentOfUser);

/** Ways to sign in that the service has; known from the first refusal. */
let signInFeatures: Partial<Features> = {};
export const readSignInFeatures = (): Partial<Features> => signInFeatures;

async function readSession(): Promise<Session | null> {
  try {
    const { data } = await portal<{ data: Session }>('GET', '/session');
    adoptSession(data);
    return data;
  } catch (cause) {
    if (!(cause instanceof ApiError) || cause.status !== 401) throw cause;
    signInFeatures = (cause.details.features as Partial<Features> | undefined) ?? {};
    return null;
  }
}

export const sessionQuery = queryOptions({ queryKey: sessionKey, queryFn: readSession, staleTime: 60_000 });

/** The session of a page that only a signed-in user reaches. */
export function useSession(): Session {
  const { data } = useQuery(sessionQuery);
  if (!data) throw new ApiError(401, undefined);
  return data;
}

export const useIsAdmin = (): boolean => useSession().user.role === 'admin';
