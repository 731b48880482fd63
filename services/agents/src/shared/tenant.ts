import type { Call } from '@agent-service/contracts';

/** One environment of one organization. Every row belongs to one. */
export interface Tenant {
  readonly organizationId: string;
  readonly environment: 'live' | 'test';
}

/** The caller's tenant, without the user and the credential. */
export const tenantOf = ({ tenant: { organizationId, environment } }: Call): Tenant => ({ organizationId, environment });
