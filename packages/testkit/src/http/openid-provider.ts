import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';

const clientId = 'the-portal';
/** With characters that HTTP Basic authentication encodes. */
const clientSecret = 'a secret: + and / of this provider';

export type IdTokenClaims = Record<string, unknown>;

/** Makes a token of the claims that a right token has. */
export type IdTokenForge = (claims: IdTokenClaims, provider: Pick<OpenIdProvider, 'signed' | 'signedWithSecret' | 'stranger'>) => string;

/** An OpenID Connect provider whose people are signed in already: the code flow, with tokens that a test may spoil. */
export interface OpenIdProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The claims of a right token for the attempt with this nonce. */
  claims(account: IdTokenClaims, nonce: string): IdTokenClaims;
  signed(claims: IdTokenClaims, key?: KeyObject, header?: IdTokenClaims): string;
  /** With HS256 and the published key as its secret: what a verifier accepts that lets the token choose the algorithm. */
  signedWithSecret(claims: IdTokenClaims): string;
  /** A key that the provider does not publish. */
  readonly stranger: KeyObject;
  /** The account that signs in, and what its token is. */
  script(account: IdTokenClaims, forge?: IdTokenForge): void;
  /** Answers everything with 503, or as usual again. */
  setAway(isAway: boolean): void;
  /** Answers this path with blanks without end, up to the limit of a test, and counts them. */
  flood(path: string): { readonly sentBytes: number };
  /** How the portal has to authenticate. A provider that names no way takes HTTP Basic authentication, by the specification. */
  setAuthentication(methods: readonly string[] | undefined): void;
  /** How many codes it was asked to exchange for a token. */
  exchanges(): number;
  stop(): Promise<void>;
}

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

export async function openIdProvider(): Promise<OpenIdProvider> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  const nonces = new Map<string, string>();
  let account: IdTokenClaims = {};
  let isAway = false;
  let methods: readonly string[] | undefined;
  let exchanges = 0;
  let flooded = { path: '', sentBytes: 0 };
  let forge: IdTokenForge = (claims) => signed(claims);

  const signed: OpenIdProvider['signed'] = (claims, key = privateKey, header = { alg: 'RS256', kid: 'one' }) => {
    const content = `${base64(header)}.${base64(claims)}`;
    return `${content}.${header['alg'] === 'none' ? '' : sign('sha256', Buffer.from(content), key).toString('base64url')}`;
  };
  const signedWithSecret: OpenIdProvider['signedWithSecret'] = (claims) => {
    const content = `${base64({ alg: 'HS256', kid: 'one' })}.${base64(claims)}`;
    const secret = publicKey.export({ type: 'spki', format: 'pem' });
    return `${content}.${createHmac('sha256', secret).update(content).digest('base64url')}`;
  };
  const claims: OpenIdProvider['claims'] = (person, nonce) => {
    const now = Math.floor(Date.now() / 1_000);
    return { iss: issuer, aud: clientId, sub: 'account-1', iat: now, exp: now + 300, nonce, email_verified: true, ...person };
  };

  const json = (response: ServerResponse, body: unknown, status = 200) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const authorize = ({ searchParams }: URL, response: ServerResponse) => {
    const code = `code-${nonces.size}`;
    nonces.set(code, searchParams.get('nonce') ?? '');
    const back = new URL(searchParams.get('redirect_uri') ?? '');
    back.search = new URLSearchParams({ code, state: searchParams.get('state') ?? '', iss: issuer }).toString();
    response.writeHead(302, { location: back.href }).end();
  };
  const exchange = async (request: IncomingMessage, response: ServerResponse) => {
    exchanges += 1;
    const form = new URLSearchParams(Buffer.concat(await request.toArray()).toString());
    if (!(methods ?? ['client_secret_basic']).some((method) => isAuthenticated(method, request, form)))
      return json(response, { error: 'invalid_client' }, 401);
    const nonce = nonces.get(form.get('code') ?? '');
    nonces.set(form.get('code') ?? '', '');
    if (!nonce || !form.get('code_verifier')) return json(response, { error: 'invalid_grant' }, 400);
    const token = forge(claims(account, nonce), { signed, signedWithSecret, stranger });
    return json(response, { access_token: 'opaque', token_type: 'Bearer', id_token: token });
  };
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', issuer);
    if (url.pathname === flooded.path) return void Readable.from(blanks(flooded)).pipe(response);
    if (isAway) return json(response, { error: 'temporarily_unavailable' }, 503);
    if (url.pathname === '/.well-known/openid-configuration') return json(response, metadataOf(issuer, methods));
    if (url.pathname === '/jwks')
      return json(response, { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' }] });
    return url.pathname === '/authorize' ? authorize(url, response) : await exchange(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    clientId,
    clientSecret,
    claims,
    signed,
    signedWithSecret,
    stranger,
    script(person, spoil = (right) => signed(right)) {
      [account, forge] = [person, spoil];
    },
    flood: (path) => (flooded = { path, sentBytes: 0 }),
    setAway: (away) => void (isAway = away),
    setAuthentication: (allowed) => void (methods = allowed),
    exchanges: () => exchanges,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const maxFloodBytes = 50_000_000;

function* blanks(flooded: { sentBytes: number }) {
  const piece = ' '.repeat(10_000);
  for (; flooded.sentBytes < maxFloodBytes; flooded.sentBytes += piece.length) yield piece;
}

const encoded = (value: string): string => encodeURIComponent(value).replaceAll('%20', '+');

function isAuthenticated(method: string, { headers }: IncomingMessage, form: URLSearchParams): boolean {
  if (method === 'client_secret_post') return form.get('client_id') === clientId && form.get('client_secret') === clientSecret;
  const [scheme, credentials = ''] = headers.authorization?.split(' ') ?? [];
  return scheme === 'Basic' && Buffer.from(credentials, 'base64').toString() === `${encoded(clientId)}:${encoded(clientSecret)}`;
}

const metadataOf = (issuer: string, methods: readonly string[] | undefined) => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/jwks`,
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['RS256'],
  authorization_response_iss_parameter_supported: true,
  ...(methods && { token_endpoint_auth_methods_supported: methods }),
});
