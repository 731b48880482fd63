import { type Principal, ServiceError } from '@agent-service/contracts';
import type { Bounds, RangeFault } from '../domain/usage.ts';
import type { UsageScope } from '../store/usage-scope.ts';

interface FilterMessage {
  userId: string;
  agentId: string;
  dateFrom: string;
  dateTo: string;
}

const defaultLimit = 50;
const maxLimit = 200;

export function scopeOf({ organizationId, environment }: Principal, filter: FilterMessage | null): UsageScope {
  return { tenant: { organizationId, environment }, userId: filter?.userId ?? '', agentId: filter?.agentId ?? '' };
}

/** Proto strings are never absent: an empty bound is one that was not given. */
export const boundsOf = (filter: FilterMessage | null): Bounds => ({
  dateFrom: filter?.dateFrom || undefined,
  dateTo: filter?.dateTo || undefined,
});

/** What a cursor of the list is bound to, so that it opens no other. */
export const bindingOf = (list: string, { tenant, userId, agentId }: UsageScope, filter: FilterMessage | null): readonly unknown[] => [
  list,
  tenant.organizationId,
  tenant.environment,
  userId,
  agentId,
  filter?.dateFrom ?? '',
  filter?.dateTo ?? '',
];

export const limitOf = (page: { limit: number } | null): number => Math.min(page?.limit || defaultLimit, maxLimit);

/** The range, or the fault in the caller's bound thrown. */
export function valid<Range extends { ok: true }>(range: Range | RangeFault): Range {
  if (!range.ok) throw new ServiceError('invalid_request', { message: range.message, param: range.param });
  return range;
}
