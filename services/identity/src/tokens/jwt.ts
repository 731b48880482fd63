import { type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';
import { processClock } from '@agent-service/runtime';
import jwt from 'jsonwebtoken';
import { type Claims, isClaims } from '../domain/tokens.ts';

const algorithm = 'RS256';

export type TokenVerdict = { claims: Claims } | { refusal: 'invalid_token' | 'token_expired' };

const signBytes = promisify(sign);

/** Signs outside the main thread, because a signature takes as long as thirty verifications, which would have to wait. */
export async function signClaims(claims: Claims, kid: string, key: KeyObject): Promise<string> {
  const encoded = [{ alg: algorithm, typ: 'JWT', kid }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const content = encoded.join('.');
  return `${content}.${(await signBytes('sha256', Buffer.from(content), key)).toString('base64url')}`;
}

/** Accepts only our own algorithm, issuer, key and claims. */
export function verifyToken(token: string, issuer: string, key: KeyObject | undefined): TokenVerdict {
  if (!key) return { refusal: 'invalid_token' };
  try {
    const payload = jwt.verify(token, key, { algorithms: [algorithm], issuer, clockTimestamp: processClock.now() / 1_000 });
    return isClaims(payload) ? { claims: payload } : { refusal: 'invalid_token' };
  } catch (cause) {
    return { refusal: cause instanceof jwt.TokenExpiredError ? 'token_expired' : 'invalid_token' };
  }
}

/** The form of our key ids. A forged id of another form does not reach the database. */
const ownKeyId = /^[0-9a-z]{1,32}$/;

/** The id of the key in the token's header; undefined for a token that cannot be ours. */
export function keyIdOf(token: string): string | undefined {
  try {
    const decoded = jwt.decode(token, { complete: true });
    const kid = decoded?.header.kid;
    return typeof kid === 'string' && ownKeyId.test(kid) ? kid : undefined;
  } catch {
    // The text does not have the form of a token.
    return undefined;
  }
}
