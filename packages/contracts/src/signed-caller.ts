import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Caller } from './principal.ts';

const lifetimeMs = 60_000;
const renewMs = 30_000;
const remembered = 1_000;

interface Claims {
  caller: Caller;
  expiresAtMs: number;
}

export interface CallerSigner {
  sign(caller: Caller): string;
}

export interface CallerVerifier {
  /** The caller, or undefined when the text was not signed by one of our services or is too old. */
  verify(signed: string): Caller | undefined;
}

const mac = (secret: string, payload: string) => createHmac('sha256', secret).update(payload).digest('base64url');

/** Signs who calls, so that no service has to believe metadata. A signature is reused for half its life. */
export function createSigner(secrets: readonly string[], now: () => number = Date.now): CallerSigner {
  const secret = secrets[0];
  if (!secret) throw new Error('a signer needs a secret');
  const known = new WeakMap<Caller, { signed: string; renewAtMs: number }>();
  return {
    sign(caller) {
      const entry = known.get(caller);
      if (entry && entry.renewAtMs > now()) return entry.signed;
      const claims: Claims = { caller, expiresAtMs: now() + lifetimeMs };
      const payload = Buffer.from(JSON.stringify(claims)).toString('base64url');
      const signed = `${payload}.${mac(secret, payload)}`;
      known.set(caller, { signed, renewAtMs: now() + renewMs });
      return signed;
    },
  };
}

/** Verifies with every secret that is still accepted, so that the secret can be changed without a pause. */
export function createVerifier(secrets: readonly string[], now: () => number = Date.now): CallerVerifier {
  const known = new Map<string, Claims>();
  return {
    verify(signed) {
      const claims = known.get(signed) ?? remember(known, signed, check(secrets, signed));
      return claims && claims.expiresAtMs > now() ? claims.caller : undefined;
    },
  };
}

function remember(known: Map<string, Claims>, signed: string, claims: Claims | undefined): Claims | undefined {
  if (!claims) return undefined;
  if (known.size >= remembered) known.clear();
  known.set(signed, claims);
  return claims;
}

function check(secrets: readonly string[], signed: string): Claims | undefined {
  const [payload, signature, ...rest] = signed.split('.');
  if (!payload || !signature || rest.length > 0) return undefined;
  const given = Buffer.from(signature);
  const genuine = secrets.some((secret) => {
    const expected = Buffer.from(mac(secret, payload));
    return expected.length === given.length && timingSafeEqual(expected, given);
  });
  return genuine ? (JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims) : undefined;
}
