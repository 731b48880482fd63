import type { RpcOf } from '@agent-service/contracts';
import type { Tenant } from '../../shared/tenant.ts';
import type { Attempt } from '../store/step-claim.ts';
import { namedTenant } from './data-source-tenant.ts';

type AttemptMessage = Parameters<RpcOf<'agents', 'authorizeStep'>['handle']>[0]['answer'];

/** The attempt that a worker speaks of. */
export function attemptOf(message: AttemptMessage): { tenant: Tenant; attempt: Attempt } {
  const { organizationId = '', environment = '', answerId = '' } = message?.answer ?? {};
  const tenant = namedTenant({ organizationId, environment });
  return { tenant, attempt: { ...tenant, answerId, attempt: message?.attempt ?? 0 } };
}
