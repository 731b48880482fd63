import type { Call } from '@agent-service/contracts';
import type { Tenant } from './tenant.ts';

/** Whose agents the call is about, and nothing else of who calls. */
export const tenantOf = ({ tenant: { organizationId, environment } }: Call): Tenant => ({ organizationId, environment });
