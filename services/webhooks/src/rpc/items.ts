import { ServiceError } from '@agent-service/contracts';
import type { Tenant } from '../domain/tenant.ts';
import type { Armed } from '../store/line.ts';

const maxItems = 1_000;
const longestId = 128;

const refused = (param: string, message: string) => new ServiceError('invalid_request', { message, param });

/** A call takes so many that its statements stay within their limits. */
export function checkCount(items: readonly unknown[], param: string): void {
  if (items.length > maxItems) throw refused(param, `At most ${maxItems} items in a call.`);
}

/** PostgreSQL keeps no NUL, so one would be a fault of the batch that it came with. */
export function checkId(id: string, param: string): string {
  if (id.length > 0 && id.length <= longestId && !id.includes('\0')) return id;
  throw refused(param, `${param} must have 1 to ${longestId} characters.`);
}

export function checkEnvironment(environment: string): Tenant['environment'] {
  if (environment === 'live' || environment === 'test') return environment;
  throw refused('environment', 'The environment must be live or test.');
}

interface JobItem {
  delivery: { organizationId: string; environment: string; deliveryId: string } | null;
  dispatch: number;
}

export const toJob = ({ delivery, dispatch }: JobItem): Armed => ({
  organizationId: checkId(delivery?.organizationId ?? '', 'organization_id'),
  environment: checkEnvironment(delivery?.environment ?? ''),
  deliveryId: checkId(delivery?.deliveryId ?? '', 'delivery_id'),
  dispatch,
});
