import { parameters, type Sql } from '@agent-service/store';
import { addDays, type Day, firstOfMonth, type Grain, lastOfMonth, mondayOf } from '../../domain/calendar.ts';
import { type Days, inScope, rollupOf, type UsageKey, type UsageScope } from './totals.ts';

/** The days of the period of this grain that contains the day. */
function periodAround(day: Day, grain: Grain): Days {
  if (grain === 'day') return { from: day, to: day };
  if (grain === 'month') return { from: firstOfMonth(day), to: lastOfMonth(day) };
  return { from: mondayOf(day), to: addDays(mondayOf(day), 6) };
}

/** The number of users in each of these periods, by the first day of the period. */
export async function countUniqueUsers(
  sql: Sql,
  scope: UsageScope,
  grain: Grain,
  days: Days,
  periods: readonly Day[],
): Promise<Map<Day, number>> {
  if (scope.userId !== '') return new Map(periods.map((period) => [period, 1]));
  const counts = await readCounts(sql, scope, grain, periods);
  for (const cut of await cutPeriods(sql, scope, grain, days)) {
    if (counts.has(cut.from)) counts.set(cut.from, await countUsers(sql, scope, within(cut, days)));
  }
  return counts;
}

/** The stored counts of whole periods, for all agents or one. */
async function readCounts(sql: Sql, scope: UsageScope, grain: Grain, periods: readonly Day[]): Promise<Map<Day, number>> {
  const rows = await sql<{ period: Day; users: string }>(
    `select period::text as period, users from usage_unique_users
     where organization_id = $1 and environment = $2 and agent_id = $3 and grain = $4 and period = any($5::date[])`,
    [scope.tenant.organizationId, scope.tenant.environment, scope.agentId, grain, periods],
  );
  return new Map(rows.map(({ period, users }) => [period, Number(users)]));
}

const within = (period: Days, days: Days): Days => ({
  from: period.from < days.from ? days.from : period.from,
  to: period.to > days.to ? days.to : period.to,
});

/** The periods that have usage outside the range: at most the first and the last one. */
async function cutPeriods(sql: Sql, scope: UsageScope, grain: Grain, days: Days): Promise<Days[]> {
  const [first, last] = [periodAround(days.from, grain), periodAround(days.to, grain)];
  if (first.from === days.from && last.to === days.to) return [];
  const params = parameters();
  const scoped = inScope(scope, params);
  const used = (from: string, to: string) =>
    `exists (select 1 from ${rollupOf(scope)} as kept where ${scoped('kept')} and kept.day >= ${from} and kept.day <= ${to})`;
  const day = (value: Day) => `${params.add(value)}::date`;
  const [row] = await sql<Record<'first' | 'last', boolean>>(
    `select ${used(day(first.from), `${day(days.from)} - 1`)} as first, ${used(`${day(days.to)} + 1`, day(last.to))} as last`,
    params.values,
  );
  const cut = [...(row?.first ? [first] : []), ...(row?.last ? [last] : [])];
  return cut.filter((period, index) => cut.findIndex(({ from }) => from === period.from) === index);
}

/**
 * The condition that a user has usage in the days. First and last day decide it for most users; only a user with usage both before and
 * after the days has to be looked up.
 */
function hasUsageIn(rollup: string, sameKey: string, from: string, to: string): string {
  return `seen.first_day <= ${to}::date and seen.last_day >= ${from}::date
    and (seen.first_day >= ${from}::date or seen.last_day <= ${to}::date
      or (select true from ${rollup} as kept where ${sameKey} and kept.day between ${from}::date and ${to}::date limit 1))`;
}

async function countUsers(sql: Sql, scope: UsageScope, days: Days): Promise<number> {
  if (scope.agentId !== '') return (await countPartners(sql, scope.tenant, 'agent_id', [scope.agentId], days)).get(scope.agentId) ?? 0;
  const params = parameters();
  const scoped = inScope(scope, params);
  const sameKey = `${scoped('kept')} and kept.user_id = seen.user_id`;
  const [row] = await sql<{ users: string }>(
    `select count(*) as users from usage_users as seen
     where ${scoped('seen')} and ${hasUsageIn('usage_user_days', sameKey, params.add(days.from), params.add(days.to))}`,
    params.values,
  );
  return Number(row?.users);
}

/** The number of agents that each of these users used in the days, or of users of each of these agents. */
async function countPartners(
  sql: Sql,
  tenant: UsageScope['tenant'],
  of: UsageKey,
  ids: readonly string[],
  days: Days,
): Promise<Map<string, number>> {
  const params = parameters();
  const scoped = inScope({ tenant, userId: '', agentId: '' }, params);
  const sameKey = `${scoped('kept')} and kept.user_id = seen.user_id and kept.agent_id = seen.agent_id`;
  const rows = await sql<{ id: string; partners: string }>(
    `select seen.${of} as id, count(*) as partners from usage_user_agents as seen
     where ${scoped('seen')} and seen.${of} = any(${params.add(ids)}::text[])
       and ${hasUsageIn('usage_by_user_agent', sameKey, params.add(days.from), params.add(days.to))}
     group by seen.${of}`,
    params.values,
  );
  return new Map(rows.map(({ id, partners }) => [id, Number(partners)]));
}

/** The number of agents that each of these users used in the days. */
export async function countAgentsOfUsers(sql: Sql, scope: UsageScope, ids: readonly string[], days: Days): Promise<Map<string, number>> {
  if (scope.agentId !== '') return new Map(ids.map((id) => [id, 1]));
  return await countPartners(sql, scope.tenant, 'user_id', ids, days);
}

/** The number of users of each of these agents in the days. Counts of a whole day, week or month are stored. */
export async function countUsersOfAgents(sql: Sql, scope: UsageScope, ids: readonly string[], days: Days): Promise<Map<string, number>> {
  if (scope.userId !== '') return new Map(ids.map((id) => [id, 1]));
  const grain = (['day', 'week', 'month'] as const).find((candidate) => {
    const { from, to } = periodAround(days.from, candidate);
    return from === days.from && to === days.to;
  });
  if (grain === undefined) return await countPartners(sql, scope.tenant, 'agent_id', ids, days);
  const rows = await sql<{ id: string; users: string }>(
    `select agent_id as id, users from usage_unique_users
     where organization_id = $1 and environment = $2 and agent_id = any($3::text[]) and grain = $4 and period = $5::date`,
    [scope.tenant.organizationId, scope.tenant.environment, ids, grain, days.from],
  );
  return new Map(rows.map(({ id, users }) => [id, Number(users)]));
}
