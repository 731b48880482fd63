import type { Cipher } from '@agent-service/store';
import type { Tenant } from '../domain/tenant.ts';

const contextOf = ({ organizationId, environment }: Tenant, endpointId: string) =>
  `webhook secret ${organizationId}/${environment}/${endpointId}`;

/** Secrets are opened only to be shown once and to sign. */
export const sealSecret = (cipher: Cipher, tenant: Tenant, endpointId: string, secret: string): string =>
  cipher.encrypt(secret, contextOf(tenant, endpointId));

export const openSecret = (cipher: Cipher, tenant: Tenant, endpointId: string, sealed: string): string =>
  cipher.decrypt(sealed, contextOf(tenant, endpointId));
