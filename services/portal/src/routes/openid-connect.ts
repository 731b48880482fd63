import { ServiceError } from '@agent-service/contracts';
import { jsonReply, type Reply } from '@agent-service/http/replies/reply';
import { z } from 'zod';
import type { Provider, SignInAttempt } from '../sessions/provider.ts';
import { type Backends, type PortalRequest, publicRoute } from './route.ts';
import { countOutcome, signedInCookie, signedInReply } from './session.ts';

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

/** Takes the place of the attempt in the cookie where the person has to choose between organizations. */
const pendingChoice = z.strictObject({ choiceToken: z.string().min(1), returnTo: signInAttempt.shape.returnTo });

const encode = (content: SignInAttempt | z.output<typeof pendingChoice>): string =>
  Buffer.from(JSON.stringify(content)).toString('base64url');

/** Undefined for what no sign-in of this portal has put there. */
function decode<Schema extends z.ZodType>(schema: Schema, text: string): z.output<Schema> | undefined {
  try {
    return schema.parse(JSON.parse(Buffer.from(text, 'base64url').toString()));
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
    const attempt = decode(signInAttempt, signInCookie.read(request.exchange.request));
    if (!attempt) return toSignInPage('sign_in_expired', backends);
    const { opened, choiceToken } = await signIn(request, backends, provider, attempt);
    const { returnTo } = attempt;
    if (choiceToken !== '') return redirect('/choose-organization', [signInCookie.set(encode({ choiceToken, returnTo }))]);
    backends.countSignIn('openid_connect', 'success');
    return redirect(returnTo, [signedInCookie(opened, request, backends), signInCookie.clear]);
  },
  replyToRefusal(refusal, backends) {
    if (!backends.provider) throw refusal;
    return toSignInPage(refusal.details?.['reason'] === providerRefused ? providerRefused : refusal.code, backends);
  },
});

function toSignInPage(outcome: string, { countSignIn, signInCookie }: Backends): Reply {
  countSignIn('openid_connect', outcome);
  return redirect(`/sign-in?error=${outcome}`, [signInCookie.clear]);
}

const providerRefused = 'provider_refused';

async function signIn(request: PortalRequest, { identity, onProviderRefusal }: Backends, provider: Provider, attempt: SignInAttempt) {
  const idToken = await provider.complete(request.exchange.request.url, attempt).catch((cause: unknown) => {
    onProviderRefusal(cause);
    throw new ServiceError('invalid_credentials', { details: { reason: providerRefused }, cause });
  });
  const { client, sessionToken: previousSessionToken } = request;
  const { organizationId, nonce } = attempt;
  return await identity.signInWithProvider({ idToken, nonce, organizationId, client, previousSessionToken });
}

function requireChoice({ exchange }: PortalRequest, { signInCookie }: Backends): z.output<typeof pendingChoice> {
  const choice = decode(pendingChoice, signInCookie.read(exchange.request));
  if (!choice) throw new ServiceError('not_found', { message: 'There is no sign-in to choose an organization for. Sign in again.' });
  return choice;
}

/** For the page that asks a person with users in several organizations. Its cookie proves the sign-in. */
export const getOrganizationChoice = publicRoute({
  method: 'GET',
  path: '/api/openid-connect/choice',
  async handler(request, backends) {
    requireProvider(backends);
    const { choiceToken, returnTo } = requireChoice(request, backends);
    const { organizations } = await backends.identity.getOrganizationChoice({ choiceToken });
    const described = organizations.map(({ id, name, isLinked }) => ({ id, name, is_linked: isLinked }));
    return jsonReply(200, { data: { organizations: described, return_to: returnTo } });
  },
});

export const chooseOrganization = publicRoute({
  method: 'POST',
  path: '/api/openid-connect/choice',
  body: z.strictObject({ organization_id: z.string().min(1).max(128) }),
  async handler(request, backends) {
    requireProvider(backends);
    const { choiceToken } = requireChoice(request, backends);
    const { client, sessionToken: previousSessionToken, body } = request;
    const choice = { choiceToken, organizationId: body.organization_id, client, previousSessionToken };
    const { opened } = await countOutcome(backends.identity.chooseOrganization(choice), 'openid_connect', backends);
    const reply = signedInReply(opened, request, backends);
    return { ...reply, headers: [...(reply.headers ?? []), 'Set-Cookie', backends.signInCookie.clear] };
  },
});
