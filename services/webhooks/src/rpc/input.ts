import { ServiceError } from '@agent-service/contracts';
import type { Tenant } from '../domain/events.ts';
import type { DispatchedKey } from '../store/queue.ts';

const maxItems = 1_000;
const longestId = 128;

const invalid = (param: string, message: string) => new ServiceError('invalid_request', { message, param });

/** Limits the items of a call, so that its statements stay within their limits. */
export function checkCount(items: readonly unknown[], param: string): void {
  if (items.length > maxItems) throw invalid(param, `At most ${maxItems} items in a call.`);
}

/** PostgreSQL cannot store NUL: one would fail the whole batch. */
export function checkId(id: string, param: string): string {
  if (id.length > 0 && id.length <= longestId && !id.includes('\0')) return id;
  throw invalid(param, `${param} must have 1 to ${longestId} characters.`);
}

export function checkEnvironment(environment: string): Tenant['environment'] {
  if (environment === 'live' || environment === 'test') return environment;
  throw invalid('environment', 'The environment must be live or test.');
}

interface JobItem {
  delivery: { organizationId: string; environment: string; deliveryId: string } | null;
  dispatch: number;
}

export const toJob = ({ delivery, dispatch }: JobItem): DispatchedKey => ({
  organizationId: checkId(delivery?.organizationId ?? '', 'organization_id'),
  environment: checkEnvironment(delivery?.environment ?? ''),
  deliveryId: checkId(delivery?.deliveryId ?? '', 'delivery_id'),
  dispatch,
});
