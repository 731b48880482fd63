import { limitedFetch } from '@agent-service/outbound';
import { ConfigurationError } from '@agent-service/runtime';
import { loadOnce } from '@agent-service/work';
import * as openid from 'openid-client';
import type { PortalConfig } from '../config.ts';

const limitSeconds = 10;
/** Providers answer with some kilobytes. */
const fetchLimited = limitedFetch(256 * 1024);
const scope = 'openid email profile';

/** One attempt to sign in. The browser keeps it in a cookie until the provider has sent it back. */
export interface SignInAttempt {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly returnTo: string;
  readonly organizationId: string;
}

/** The configured OpenID Connect provider: the code flow with PKCE, a state and a nonce. */
export interface Provider {
  begin(target: Pick<SignInAttempt, 'returnTo' | 'organizationId'>): Promise<{ readonly url: string; readonly attempt: SignInAttempt }>;
  /** The ID token of the person who comes back, which identity verifies; rejects unless the answer belongs to the attempt. */
  complete(callback: string, attempt: SignInAttempt): Promise<string>;
}

/** A provider that does not say that it reads the secret in the body takes HTTP Basic authentication, which every provider has to support. */
function authenticate(clientId: string, secret: string): openid.ClientAuth {
  const post = openid.ClientSecretPost(secret);
  // The library's own form also encodes hyphens and dots, which providers that decode nothing refuse.
  const basic = Buffer.from(`${encodeForm(clientId)}:${encodeForm(secret)}`).toString('base64');
  return (server, client, body, headers) => {
    if (server.token_endpoint_auth_methods_supported?.includes('client_secret_post')) post(server, client, body, headers);
    else headers.set('authorization', `Basic ${basic}`);
  };
}

const encodeForm = (value: string): string => new URLSearchParams({ '': value }).toString().slice(1);

/** Undefined where no provider is configured. */
export function createProvider(config: PortalConfig): Provider | undefined {
  const {
    OPENID_CONNECT_ISSUER: issuer,
    OPENID_CONNECT_CLIENT_ID: clientId,
    OPENID_CONNECT_CLIENT_SECRET: secret,
    PORTAL_URL: portal,
  } = config;
  if (issuer === undefined) return undefined;
  if (clientId === undefined || portal === undefined)
    throw new ConfigurationError(['OPENID_CONNECT_ISSUER: needs OPENID_CONNECT_CLIENT_ID and PORTAL_URL as well']);
  const redirectUri = `${new URL(portal).origin}/api/openid-connect/callback`;
  const isLocal = new URL(issuer).protocol === 'http:';
  const authentication = secret === undefined ? undefined : authenticate(clientId, secret);
  // Not at the start, because the provider may be away then.
  const discover = loadOnce(() => {
    const execute = isLocal ? [openid.allowInsecureRequests] : [];
    const options = { timeout: limitSeconds, execute, [openid.customFetch]: fetchLimited };
    return openid.discovery(new URL(issuer), clientId, secret, authentication, options);
  });

  return {
    async begin(target) {
      const configuration = await discover();
      const verifier = openid.randomPKCECodeVerifier();
      const attempt = { ...target, state: openid.randomState(), nonce: openid.randomNonce(), verifier };
      const url = openid.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope,
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state: attempt.state,
        nonce: attempt.nonce,
      });
      return { url: url.href, attempt };
    },
    async complete(callback, { state, nonce, verifier }) {
      const current = new URL(callback, redirectUri);
      const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true };
      const { id_token: idToken } = await openid.authorizationCodeGrant(await discover(), current, checks);
      if (idToken === undefined) throw new Error('the provider sent no ID token');
      return idToken;
    },
  };
}
