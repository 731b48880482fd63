import { ServiceError } from '@agent-service/contracts';
import { limitedFetch } from '@agent-service/outbound';
import { processClock } from '@agent-service/runtime';
import { loadOnce } from '@agent-service/work';
import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey, jwtVerify } from 'jose';
import * as openid from 'openid-client';
import { z } from 'zod';
import type { IdentityConfig } from '../config.ts';
import type { ProviderAccount } from './store/passwords.ts';

const limitSeconds = 5;
/** Providers publish some kilobytes. */
const fetchLimited = limitedFetch(256 * 1024);
/** Less than a used token is remembered, so that none is accepted twice. */
const oldestSeconds = 600;
const clockToleranceSeconds = 30;
const maxTokenLength = 16_384;
/** Signatures with a public key alone: a provider's secret must not sign what identity believes. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'];
/** Failures to get the provider's keys; every other error of the verification is about the token. */
const keyFailures = ['ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID', 'ERR_JOSE_GENERIC'];

/** Verifies ID tokens of the configured OpenID Connect provider with the keys that it publishes. */
export interface IdTokens {
  /** The account that the token is about; rejects unless it was made for the portal and for the attempt with this nonce, and is young. */
  verify(idToken: string, nonce: string): Promise<ProviderAccount>;
}

interface PublishedKeys {
  readonly issuer: string;
  readonly find: JWTVerifyGetKey;
}

/** Undefined where no provider is configured. */
export function createIdTokens({
  OPENID_CONNECT_ISSUER: configured,
  OPENID_CONNECT_CLIENT_ID: clientId,
}: IdentityConfig): IdTokens | undefined {
  if (configured === undefined || clientId === undefined) return undefined;
  const findKeys = loadOnce(() => discoverKeys(configured, clientId));

  return {
    async verify(idToken, nonce) {
      if (idToken === '' || idToken.length > maxTokenLength || nonce === '') throw refuse();
      const keys = await findKeys().catch((cause: unknown) => Promise.reject(new ServiceError('unavailable', { cause })));
      const { payload } = await jwtVerify(idToken, keys.find, {
        algorithms,
        issuer: keys.issuer,
        audience: clientId,
        maxTokenAge: oldestSeconds,
        clockTolerance: clockToleranceSeconds,
        currentDate: new Date(processClock.now()),
        requiredClaims: ['exp', 'nonce'],
      }).catch((cause: unknown) => Promise.reject(toRefusal(cause)));
      const { success, data: claims, error } = idTokenClaims.safeParse(payload);
      if (!success) throw refuse(error);
      if (claims.nonce !== nonce) throw refuse('the nonce of another attempt');
      if (!isParty(claims, clientId)) throw refuse('the token is for another party');
      return { issuer: configured, subject: claims.sub, email: claims.email };
    },
  };
}

const idTokenClaims = z.object({
  sub: z.string().min(1).max(255),
  email: z.string().min(1).max(254),
  email_verified: z.literal(true),
  nonce: z.string(),
  aud: z.union([z.string(), z.array(z.string())]),
  azp: z.string().optional(),
});

/** A token for several audiences names the one that asked for it. */
const isParty = ({ aud, azp }: z.output<typeof idTokenClaims>, clientId: string): boolean =>
  azp === undefined ? typeof aud === 'string' || aud.length === 1 : azp === clientId;

async function discoverKeys(issuer: string, clientId: string): Promise<PublishedKeys> {
  const url = new URL(issuer);
  const execute = url.protocol === 'http:' ? [openid.allowInsecureRequests] : [];
  const discovered = await openid.discovery(url, clientId, undefined, undefined, {
    timeout: limitSeconds,
    execute,
    [openid.customFetch]: fetchLimited,
  });
  const { issuer: name, jwks_uri: keys } = discovered.serverMetadata();
  if (keys === undefined) throw new Error('the provider publishes no keys');
  return { issuer: name, find: createRemoteJWKSet(new URL(keys), { timeoutDuration: limitSeconds * 1_000, [customFetch]: fetchLimited }) };
}

function toRefusal(cause: unknown): ServiceError {
  const isAboutToken = cause instanceof errors.JOSEError && !keyFailures.includes(cause.code);
  return isAboutToken ? refuse(cause) : new ServiceError('unavailable', { cause });
}

const refuse = (cause?: unknown): ServiceError =>
  new ServiceError('invalid_token', { message: 'The token of the identity provider was refused.', cause });
