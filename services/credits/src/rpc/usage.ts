import { callers, type Principal, type RpcOf, requirePrincipal, ServiceError, type Tenant, tenantOf } from '@agent-service/contracts';
import { isoTime, lastOf, limitOf } from '@agent-service/store';
import type { CreditsDeps } from '../deps.ts';
import { billingPeriod, dayOf } from '../domain/calendar.ts';
import { type Bounds, type RangeFault, recordRange } from '../domain/usage.ts';
import { rankUsage, readAgentNames } from '../store/usage/groups.ts';
import { countUsage, listRecords, type RecordAfter, type UsageRow } from '../store/usage/records.ts';
import { tierTotals, type UsageScope } from '../store/usage/totals.ts';
import { countUniqueUsers } from '../store/usage/users.ts';

export const listUsage = ({ usageSql, cursors }: CreditsDeps): RpcOf<'credits', 'listUsage'> => ({
  allow: callers({ scope: 'credits:read' }),
  async handle({ page, filter }, call) {
    const scope = scopeOf(tenantOf(call), filter);
    const range = requireRange(recordRange(boundsOf(filter)));
    const limit = usageLimitOf(page);
    const binding = bindingOf('usage', scope, filter);
    const start = cursors.decode(binding, page?.cursor ?? '');
    const sql = usageSql(call);
    const [rows, total] = await Promise.all([
      listRecords(sql, scope, range, limit, start?.after as RecordAfter | undefined),
      countUsage(sql, scope, range),
    ]);
    const last = lastOf(rows, limit);
    const nextCursor = last ? cursors.encode(binding, { after: [isoTime(last.at), last.id] }) : '';
    const principal = requirePrincipal(call);
    return { records: rows.slice(0, limit).map((row) => toRecord(principal, row)), page: { total, nextCursor } };
  },
});

const toRecord = (caller: Principal, { credits, tier, at, querySummary, ...row }: UsageRow) => ({
  ...row,
  querySummary: maySeeMessages(caller, row.userId) ? querySummary : '',
  creditsConsumed: credits,
  model: tier,
  timestamp: isoTime(at),
});

/** Conversations are private: users see the beginnings of their own messages, administrator keys and applications those of all users. */
const maySeeMessages = ({ userId, admin, role }: Principal, owner: string): boolean => admin || role === '' || owner === userId;

const mostUsed = 10;

/** The current billing period of the tenant. */
export const summarizeUsage = ({ usageSql, now }: CreditsDeps): RpcOf<'credits', 'summarizeUsage'> => ({
  allow: callers({ scope: 'credits:read' }),
  async handle(_request, call) {
    const [scope, sql] = [scopeOf(tenantOf(call), null), usageSql(call)];
    const { start, end } = billingPeriod(now());
    const days = { from: dayOf(start), to: dayOf(end - 1) };
    const [tiers, users, agents] = await Promise.all([
      tierTotals(sql, scope, days),
      countUniqueUsers(sql, scope, 'month', days, [days.from]),
      rankUsage(sql, scope, 'agent_id', days, mostUsed),
    ]);
    const top = agents.rows.slice(0, mostUsed);
    const names = await readAgentNames(
      sql,
      scope,
      top.map(({ id }) => id),
    );
    return {
      summary: {
        periodStart: new Date(start).toISOString(),
        periodEnd: new Date(end).toISOString(),
        totalCreditsUsed: tiers.reduce((sum, { credits }) => sum + credits, 0),
        totalQueries: tiers.reduce((sum, { queries }) => sum + queries, 0),
        activeUsers: users.get(days.from) ?? 0,
        mostUsedAgents: top.map(({ id, credits, queries }) => ({
          agentId: id,
          name: names.get(id) ?? '',
          creditsUsed: credits,
          queryCount: queries,
        })),
        modelDistribution: Object.fromEntries(tiers.map(({ tier, credits, queries }) => [tier, { credits, queries }])),
      },
    };
  },
});

interface FilterMessage {
  userId: string;
  agentId: string;
  dateFrom: string;
  dateTo: string;
}

export function scopeOf(tenant: Tenant, filter: FilterMessage | null): UsageScope {
  return { tenant, userId: filter?.userId ?? '', agentId: filter?.agentId ?? '' };
}

/** The bounds of a filter. Strings of a proto are never absent, so an empty bound is none. */
export const boundsOf = (filter: FilterMessage | null): Bounds => ({
  dateFrom: filter?.dateFrom || undefined,
  dateTo: filter?.dateTo || undefined,
});

/** The list and filter that a cursor belongs to: it is not valid for another. */
export const bindingOf = (list: string, { tenant, userId, agentId }: UsageScope, filter: FilterMessage | null): readonly unknown[] => [
  list,
  tenant.organizationId,
  tenant.environment,
  userId,
  agentId,
  filter?.dateFrom ?? '',
  filter?.dateTo ?? '',
];

/** Pages of usage are longer than those of other lists. */
export const usageLimitOf = (page: { limit: number } | null): number => limitOf(page, 50, 200);

/** The range. Throws if a bound is not valid. */
export function requireRange<Range extends { ok: true }>(range: Range | RangeFault): Range {
  if (!range.ok) throw new ServiceError('invalid_request', { message: range.message, param: range.param });
  return range;
}
