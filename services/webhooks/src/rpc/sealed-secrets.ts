import type { Cipher } from '@agent-service/store';
import type { Tenant } from '../domain/tenant.ts';
import { secretContext } from '../store/sealed-places.ts';

/** Secrets are opened only to be shown once and to sign. */
export type OpenSecret = (tenant: Tenant, endpointId: string, sealed: string) => string;

const keptAtMost = 10_000;

/** Keeps those in memory that sign at the moment: opening one costs as much as all else that is done to begin a delivery. */
export function createOpenSecret(cipher: Cipher): OpenSecret {
  const opened = new Map<string, string>();
  return (tenant, endpointId, sealed) => {
    const key = `${secretContext(tenant, endpointId)} ${sealed}`;
    const kept = opened.get(key);
    if (kept !== undefined) return kept;
    const secret = openSecret(cipher, tenant, endpointId, sealed);
    for (const oldest of opened.size >= keptAtMost ? opened.keys().take(1) : []) opened.delete(oldest);
    opened.set(key, secret);
    return secret;
  };
}

export const sealSecret = (cipher: Cipher, tenant: Tenant, endpointId: string, secret: string): string =>
  cipher.encrypt(secret, secretContext(tenant, endpointId));

export const openSecret = (cipher: Cipher, tenant: Tenant, endpointId: string, sealed: string): string =>
  cipher.decrypt(sealed, secretContext(tenant, endpointId));
