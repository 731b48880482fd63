import { randomBytes } from 'node:crypto';
import { checkText, type Tenant } from '@agent-service/contracts';
import type { Cipher } from '@agent-service/store';
import { LRUCache } from 'lru-cache';
import { secretContext } from '../store/sealed-columns.ts';

const secretBytes = 32;
const [minSecretLength, maxSecretLength] = [16, 255];
const cachedSecrets = 10_000;

/** A random secret in the form of the Standard Webhooks. */
export const makeSecret = (): string => `whsec_${randomBytes(secretBytes).toString('base64')}`;

export const checkSecret = (secret: string): string => checkText(secret, 'secret', { min: minSecretLength, max: maxSecretLength });

export const sealSecret = (cipher: Cipher, tenant: Tenant, webhookId: string, secret: string): string =>
  cipher.encrypt(secret, secretContext(tenant, webhookId));

export const openSecret = (cipher: Cipher, tenant: Tenant, webhookId: string, sealed: string): string =>
  cipher.decrypt(sealed, secretContext(tenant, webhookId));

export type SecretOpener = (tenant: Tenant, webhookId: string, sealed: string) => string;

/** Opens secrets that sign, with a cache: opening one costs as much as the rest of beginning a delivery. */
export function createSecretOpener(cipher: Cipher): SecretOpener {
  const opened = new LRUCache<string, string>({ max: cachedSecrets });
  return (tenant, webhookId, sealed) => {
    const key = `${secretContext(tenant, webhookId)} ${sealed}`;
    let secret = opened.get(key);
    if (secret === undefined) {
      secret = openSecret(cipher, tenant, webhookId, sealed);
      opened.set(key, secret);
    }
    return secret;
  };
}
