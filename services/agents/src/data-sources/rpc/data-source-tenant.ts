import { ServiceError } from '@agent-service/contracts';
import type { Tenant } from '../../shared/tenant.ts';

/** The tenant that an operator names. */
export function namedTenant({ organizationId, environment }: { organizationId: string; environment: string }): Tenant {
  if (organizationId === '')
    throw new ServiceError('invalid_request', { message: 'organization_id is missing.', param: 'organization_id' });
  if (environment !== 'live' && environment !== 'test')
    throw new ServiceError('invalid_request', { message: 'environment must be live or test.', param: 'environment' });
  return { organizationId, environment };
}
