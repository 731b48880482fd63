import { callers, type RpcOf, ServiceError, tenantOf } from '@agent-service/contracts';
import { isoTime, lastOf, type Sql } from '@agent-service/store';
import type { CreditsDeps } from '../deps.ts';
import type { Grain } from '../domain/calendar.ts';
import { dayRange, usageByPeriod } from '../domain/usage.ts';
import { type RankedAfter, rankUsage, readAgentNames, readBreakdowns, readLastUses } from '../store/usage/groups.ts';
import { type Days, type UsageScope, usageDays } from '../store/usage/totals.ts';
import { countAgentsOfUsers, countUniqueUsers, countUsersOfAgents } from '../store/usage/users.ts';
import { bindingOf, boundsOf, requireRange, scopeOf, usageLimitOf } from './usage.ts';

interface AggregateOptions {
  scope: UsageScope;
  days: Days;
  limit: number;
  /** The sort key of the last entry of the page before; empty for the first page. */
  after: readonly (string | number)[];
}

interface PeriodMessage {
  date: string;
  week?: string;
  month?: string;
  totalCredits: number;
  queryCount: number;
  uniqueUsers: number;
  breakdownByModel: Record<string, number>;
}

interface UserMessage {
  userId: string;
  totalCredits: number;
  queryCount: number;
  uniqueAgents: number;
  breakdownByModel: Record<string, number>;
  lastUsedAt: string;
}

interface AgentMessage {
  agentId: string;
  name: string;
  totalCredits: number;
  queryCount: number;
  uniqueUsers: number;
  breakdownByModel: Record<string, number>;
}

/** One page of groups, with the totals of the whole range. */
interface Aggregation {
  periods?: PeriodMessage[];
  users?: UserMessage[];
  agents?: AgentMessage[];
  totalCredits: number;
  totalQueries: number;
  /** The number of groups. */
  total: number;
  /** The sort key of the last entry, if another page follows. */
  last: (string | number)[] | undefined;
}

type Aggregate = (sql: Sql, options: AggregateOptions) => Promise<Aggregation>;

/** The range's periods with usage, earliest first. */
const aggregatePeriods =
  (grain: Grain): Aggregate =>
  async (sql, { scope, days, limit, after: [after] }) => {
    const all = usageByPeriod(await usageDays(sql, scope, days), grain);
    const rest = after === undefined ? all : all.filter(({ period }) => period.date > String(after));
    const page = rest.slice(0, limit);
    const dates = page.map(({ period }) => period.date);
    const users = await countUniqueUsers(sql, scope, grain, days, dates);
    const last = lastOf(rest, limit);
    return {
      periods: page.map(({ period, credits, queries, breakdown }) => ({
        ...period,
        totalCredits: credits,
        queryCount: queries,
        uniqueUsers: users.get(period.date) ?? 0,
        breakdownByModel: breakdown,
      })),
      totalCredits: all.reduce((sum, { credits }) => sum + credits, 0),
      totalQueries: all.reduce((sum, { queries }) => sum + queries, 0),
      total: all.length,
      last: last && [last.period.date],
    };
  };

/** The sort key of the last group on the page before. Only `aggregateUsers` and `aggregateAgents` make these cursors. */
const rankedAfterOf = (after: AggregateOptions['after']) => (after.length > 0 ? (after as unknown as RankedAfter) : undefined);

/** The users of the range, by credits used. */
const aggregateUsers: Aggregate = async (sql, { scope, days, limit, after }) => {
  const ranking = await rankUsage(sql, scope, 'user_id', days, limit, rankedAfterOf(after));
  const page = ranking.rows.slice(0, limit);
  const ids = page.map(({ id }) => id);
  const [models, agents, times] = await Promise.all([
    readBreakdowns(sql, scope, 'user_id', page, days),
    countAgentsOfUsers(sql, scope, ids, days),
    readLastUses(sql, scope, page),
  ]);
  const last = lastOf(ranking.rows, limit);
  return {
    users: page.map(({ id, credits, queries, lastDay }) => ({
      userId: id,
      totalCredits: credits,
      queryCount: queries,
      uniqueAgents: agents.get(id) ?? 0,
      breakdownByModel: models.get(id) ?? {},
      lastUsedAt: isoTime(times.get(id) ?? lastDay),
    })),
    totalCredits: ranking.credits,
    totalQueries: ranking.queries,
    total: ranking.total,
    last: last && [last.credits, last.id],
  };
};

/** The agents of the range, by credits used. A deleted agent keeps its name. */
const aggregateAgents: Aggregate = async (sql, { scope, days, limit, after }) => {
  const ranking = await rankUsage(sql, scope, 'agent_id', days, limit, rankedAfterOf(after));
  const page = ranking.rows.slice(0, limit);
  const ids = page.map(({ id }) => id);
  const [models, users, names] = await Promise.all([
    readBreakdowns(sql, scope, 'agent_id', page, days),
    countUsersOfAgents(sql, scope, ids, days),
    readAgentNames(sql, scope, ids),
  ]);
  const last = lastOf(ranking.rows, limit);
  return {
    agents: page.map(({ id, credits, queries }) => ({
      agentId: id,
      name: names.get(id) ?? '',
      totalCredits: credits,
      queryCount: queries,
      uniqueUsers: users.get(id) ?? 0,
      breakdownByModel: models.get(id) ?? {},
    })),
    totalCredits: ranking.credits,
    totalQueries: ranking.queries,
    total: ranking.total,
    last: last && [last.credits, last.id],
  };
};

const aggregates: Readonly<Record<string, Aggregate>> = {
  day: aggregatePeriods('day'),
  week: aggregatePeriods('week'),
  month: aggregatePeriods('month'),
  user: aggregateUsers,
  agent: aggregateAgents,
};

export const aggregateUsage = ({ usageSql, cursors, now }: CreditsDeps): RpcOf<'credits', 'aggregateUsage'> => ({
  allow: callers({ scope: 'credits:read' }),
  async handle({ page, filter, groupBy }, call) {
    const aggregate = aggregates[groupBy];
    if (!aggregate)
      throw new ServiceError('invalid_request', { message: 'group_by must be day, week, month, user or agent.', param: 'group_by' });
    const scope = scopeOf(tenantOf(call), filter);
    const binding = [groupBy, ...bindingOf('usage', scope, filter)];
    const start = cursors.decode(binding, page?.cursor ?? '');
    // The cursor contains the range, so that all pages of a list have the same one, also over midnight.
    const [from, to, ...after] = start?.after ?? [];
    const days = start ? { from: String(from), to: String(to) } : daysOf(requireRange(dayRange(boundsOf(filter), now())));
    const { last, total, ...groups }: Aggregation = await aggregate(usageSql(call), { scope, days, limit: usageLimitOf(page), after });
    const nextCursor = last ? cursors.encode(binding, { after: [days.from, days.to, ...last] }) : '';
    return { ...groups, dateRange: days, page: { total, nextCursor } };
  },
});

const daysOf = ({ from, to }: { from: string; to: string }) => ({ from, to });
