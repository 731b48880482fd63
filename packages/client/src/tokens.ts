import { AgentServiceError, isObject, parseObject, toApiError, toConnectionError } from './errors.ts';
import { timeLimit } from './waiting.ts';

/** The address and the function with which a token source sends requests. */
export interface TokenContext {
  readonly baseUrl: string;
  readonly fetch: typeof fetch;
}

/** Gives the token for the next request. */
export interface TokenSource {
  token(context: TokenContext): Promise<string>;
  /** The service refused this token. Without this method it cannot be replaced. */
  refused?(token: string): void;
  /** True where all tokens are of one credential: only then an Idempotency-Key that was sent with one of them counts with the others, too. */
  readonly isOneCredential?: boolean;
}

/** A token, a function that returns the current one, or a source such as `apiKey(…)` and `clientCredentials(…)`. */
export type Auth = string | (() => string | Promise<string>) | TokenSource;

interface IssuedToken {
  readonly token: string;
  readonly lifetimeSeconds: number;
}

/** The service never redirects. Following would turn a POST into a GET, or pass keys and messages to the host that the redirect names. */
export const redirect = 'manual';
const requestLimitMs = 20_000;
/** The longest time before its end at which a token is renewed. */
const earliestRenewalMs = 300_000;
const renewalPauseMs = 5_000;

/** Exchanges an API key for access tokens, which are renewed before they expire. The key itself is sent to the token endpoint only. */
export const apiKey = (key: string): TokenSource =>
  renewingSource(async (context) => {
    const sent = { 'content-type': 'application/json', body: JSON.stringify({ api_key: key }) };
    return await requestToken(context, '/v1/auth/token', sent);
  });

/** OAuth 2.0 client credentials; tokens are renewed before they expire. */
export const clientCredentials = (clientId: string, clientSecret: string, scopes: readonly string[] = []): TokenSource =>
  renewingSource(async (context) => {
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
    return await requestToken(context, '/v1/auth/oauth/token', {
      'content-type': 'application/x-www-form-urlencoded',
      body: new URLSearchParams({ ...form, ...(scopes.length > 0 && { scope: scopes.join(' ') }) }).toString(),
    });
  });

async function requestToken(
  { baseUrl, fetch }: TokenContext,
  path: string,
  sent: { 'content-type': string; body: string },
): Promise<IssuedToken> {
  const limit = timeLimit(requestLimitMs);
  try {
    const headers = { 'content-type': sent['content-type'], accept: 'application/json' };
    const response = await fetch(`${baseUrl}${path}`, { method: 'POST', headers, body: sent.body, signal: limit.signal, redirect });
    const text = await response.text();
    if (!response.ok) throw toApiError(response.status, response.headers, text);
    const issued = readToken(text);
    if (!issued) throw new AgentServiceError('The answer of the token endpoint has no token.');
    return issued;
  } catch (cause) {
    throw toConnectionError(cause, limit.signal);
  } finally {
    limit.release();
  }
}

/** In `data` from the exchange of a key, and plain from OAuth; undefined for an answer without a token, such as the page of a proxy. */
function readToken(text: string): IssuedToken | undefined {
  const answer = parseObject(text);
  const { access_token: token, expires_in: lifetimeSeconds } = isObject(answer['data']) ? answer['data'] : answer;
  return typeof token === 'string' && typeof lifetimeSeconds === 'number' ? { token, lifetimeSeconds } : undefined;
}

/**
 * Requests share one token. It is renewed in the last fifth of its life while requests go on with it. Its age is measured here on the monotonic
 * clock, so that a wrong time of day does not matter; after a refusal, as when the machine was asleep, there is a new one at once.
 */
function renewingSource(issue: (context: TokenContext) => Promise<IssuedToken>): TokenSource {
  let current: { token: string; renewAt: number; expiresAt: number } | undefined;
  let pending: Promise<string> | undefined;
  const renew = (context: TokenContext) =>
    (pending ??= (async () => {
      const requestedAt = performance.now();
      const { token, lifetimeSeconds } = await issue(context);
      const lifetimeMs = lifetimeSeconds * 1_000;
      const expiresAt = requestedAt + lifetimeMs;
      current = { token, expiresAt, renewAt: expiresAt - Math.min(lifetimeMs / 5, earliestRenewalMs) };
      return token;
    })().finally(() => {
      pending = undefined;
    }));
  return {
    async token(context) {
      const now = performance.now();
      if (!current || now >= current.expiresAt) return await renew(context);
      const { token } = current;
      if (now >= current.renewAt) {
        // A renewal that fails is tried again after a pause, and reported once the token has expired.
        current.renewAt = now + renewalPauseMs;
        renew(context).catch(() => undefined);
      }
      return token;
    },
    refused(token) {
      if (current?.token === token) current = undefined;
    },
    isOneCredential: true,
  };
}

/** A source for what the caller passed as `auth`. */
export function toTokenSource(auth: Auth): TokenSource {
  if (typeof auth === 'string') return { token: async () => auth, isOneCredential: true };
  // A function may have a newer token after a refusal.
  if (typeof auth === 'function') return { token: async () => await auth(), refused: () => undefined };
  return auth;
}
