import { ServiceError } from '@agent-service/contracts';
import type { Reply } from '@agent-service/http/replies/reply';
import { z } from 'zod';
import type { Provider, SignInAttempt } from '../sessions/provider.ts';
import { type Backends, type PortalRequest, publicRoute } from './route.ts';
import { openedReply } from './session.ts';

/** A path of the portal itself. */
const pathOf = (value: string): string => (/^\/(?![/\\])[\x21-\x7e]*$/.test(value) ? value : '/');

// The cookie comes from the browser, so that what it holds is checked again.
const signInAttempt = z.strictObject({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  returnTo: z.string().transform(pathOf),
  organizationId: z.string(),
});

const encode = (attempt: SignInAttempt): string => Buffer.from(JSON.stringify(attempt)).toString('base64url');

/** Undefined for what no sign-in of this portal began with. */
function decode(text: string): SignInAttempt | undefined {
  try {
    return signInAttempt.parse(JSON.parse(Buffer.from(text, 'base64url').toString()));
  } catch {
    return undefined;
  }
}

const longest = 500;
const textOf = (value: unknown): string => (typeof value === 'string' && value.length <= longest ? value : '');

const redirect = (location: string, cookies: readonly string[]): Reply => ({
  status: 303,
  headers: ['Location', location, ...cookies.flatMap((cookie) => ['Set-Cookie', cookie])],
});

function requireProvider({ provider }: Backends): Provider {
  if (!provider) throw new ServiceError('not_found', { message: 'No OpenID Connect provider is configured.' });
  return provider;
}

const isFromElsewhere = (site: string | string[] | undefined): boolean => site === 'cross-site' || site === 'same-site';

export const startSignIn = publicRoute({
  method: 'GET',
  path: '/api/openid-connect/start',
  async handler({ exchange }, backends) {
    // A page of another site must not choose whose session this browser gets.
    if (isFromElsewhere(exchange.request.headers['sec-fetch-site'])) return redirect('/sign-in', []);
    const { return_to, organization_id } = exchange.request.query;
    const target = { returnTo: pathOf(textOf(return_to)), organizationId: textOf(organization_id) };
    const { url, attempt } = await requireProvider(backends)
      .begin(target)
      .catch((cause: unknown) => Promise.reject(new ServiceError('unavailable', { cause })));
    return redirect(url, [backends.signInCookie.set(encode(attempt))]);
  },
});

/** The person comes back here. A failure leads to the sign-in page, which explains its code. */
export const finishSignIn = publicRoute({
  method: 'GET',
  path: '/api/openid-connect/callback',
  async handler(request, backends) {
    const provider = requireProvider(backends);
    const { signInCookie } = backends;
    const attempt = decode(signInCookie.read(request.exchange.request));
    const outcome = attempt ? await signIn(request, backends, provider, attempt) : 'sign_in_expired';
    backends.countSignIn('openid_connect', typeof outcome === 'string' ? outcome : 'success');
    if (typeof outcome === 'string') return redirect(`/sign-in?error=${outcome}`, [signInCookie.clear]);
    const [, cookie = ''] = outcome.headers ?? [];
    return redirect(attempt?.returnTo ?? '/', [cookie, signInCookie.clear]);
  },
});

/** The reply of a new session, or the code of a failure. */
async function signIn(request: PortalRequest, backends: Backends, provider: Provider, attempt: SignInAttempt): Promise<Reply | string> {
  const idToken = await provider.complete(request.exchange.request.url, attempt).catch((cause: unknown) => {
    backends.onProviderRefusal(cause);
    return undefined;
  });
  if (idToken === undefined) return 'provider_refused';
  const { client, sessionToken: previousSessionToken } = request;
  const { organizationId, nonce } = attempt;
  try {
    const { opened } = await backends.identity.signInWithProvider({ idToken, nonce, organizationId, client, previousSessionToken });
    return openedReply(opened, request, backends);
  } catch (cause) {
    return ServiceError.from(cause).code;
  }
}
