import { type Call, ServiceError } from '@agent-service/contracts';

/** One environment of one organization. Every row belongs to one. */
export interface Tenant {
  readonly organizationId: string;
  readonly environment: 'live' | 'test';
}

/** The caller's tenant, without the user and the credential. */
export const tenantOf = ({ tenant: { organizationId, environment } }: Call): Tenant => ({ organizationId, environment });

/** The tenant that an operator or a worker names. */
export function checkTenant({ organizationId, environment }: { organizationId: string; environment: string }): Tenant {
  if (organizationId === '')
    throw new ServiceError('invalid_request', { message: 'organization_id is missing.', param: 'organization_id' });
  if (environment !== 'live' && environment !== 'test')
    throw new ServiceError('invalid_request', { message: 'environment must be live or test.', param: 'environment' });
  return { organizationId, environment };
}
