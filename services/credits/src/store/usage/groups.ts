import { parameters, type Sql } from '@agent-service/store';
import { dayMs, startOfDay } from '../../domain/calendar.ts';
import {
  creditsOfDays,
  type Days,
  inScope,
  joinTotals,
  queriesOfDays,
  rollupOf,
  tiersOf,
  type UsageKey,
  type UsageScope,
} from './totals.ts';

export interface Ranked {
  id: string;
  credits: number;
  queries: number;
  firstDay: string;
  lastDay: string;
}

export interface Ranking {
  /** By credits used. One row more than the limit shows that another page follows. */
  rows: Ranked[];
  /** The number of all users or agents. */
  total: number;
  credits: number;
  queries: number;
}

/** The last row of the page before. */
export type RankedAfter = readonly [credits: number, id: string];

type Row = Record<'total' | 'all_credits' | 'all_queries', string> &
  Record<'id' | 'credits' | 'queries' | 'first_day' | 'last_day', string | null>;

/** The users or agents of the scope by the credits that they used in the days. The cost depends on their number only. */
export async function rankUsage(
  sql: Sql,
  scope: UsageScope,
  by: UsageKey,
  days: Days,
  limit: number,
  after?: RankedAfter,
): Promise<Ranking> {
  const params = parameters();
  const scoped = inScope(scope, params);
  const [from, to] = [params.add(days.from), params.add(days.to)];
  const { keys, rollup, hasTiers } = sourceOf(scope, by);
  const sameKey = `${scoped('kept')} and kept.${by} = seen.${by}${hasTiers ? ' and kept.tier = tiers.tier' : ''}`;
  const totals = joinTotals({ rollup, sameKey, from, to, firstDay: 'seen.first_day', ...(!hasTiers && { latest: 'seen' }) });
  const isAfter = after ? afterCondition(params.add(after[0]), params.add(after[1])) : 'true';
  const rows = await sql<Row>(
    `with recursive ${hasTiers ? `${tiersOf(scope, scoped)},` : ''} used as materialized (
       select seen.${by} as id, sum(${creditsOfDays}) as credits, sum(${queriesOfDays}) as queries,
         min(seen.first_day) as first_day, max(upper.day) as last_day
       from ${keys} as seen ${hasTiers ? 'cross join tiers' : ''} ${totals}
       where ${scoped('seen')} and seen.first_day <= ${to}::date and seen.last_day >= ${from}::date
       group by seen.${by}
     )
     select all_used.*, page.id, page.credits, page.queries, page.first_day::text, page.last_day::text
     from (
       select count(*) as total, coalesce(sum(credits), 0) as all_credits, coalesce(sum(queries), 0) as all_queries from used
     ) as all_used
     left join lateral (
       select * from used where ${isAfter} order by credits desc, id limit ${params.add(limit + 1)}::integer
     ) as page on true
     order by page.credits desc, page.id`,
    params.values,
  );
  return toRanking(rows);
}

/** The table of keys and the rollup to read. All users of a tenant have a rollup without tiers; other rollups are added up over the tiers. */
function sourceOf(scope: UsageScope, by: UsageKey): { keys: string; rollup: string; hasTiers: boolean } {
  const other = by === 'user_id' ? scope.agentId : scope.userId;
  if (other !== '') return { keys: 'usage_user_agents', rollup: 'usage_by_user_agent', hasTiers: true };
  if (by === 'user_id') return { keys: 'usage_users', rollup: 'usage_user_days', hasTiers: false };
  return { keys: 'usage_agents', rollup: 'usage_by_agent', hasTiers: true };
}

const afterCondition = (credits: string, id: string) =>
  `(credits < ${credits}::numeric or (credits = ${credits}::numeric and id > ${id}::text))`;

function toRanking(rows: readonly Row[]): Ranking {
  const [first] = rows;
  return {
    total: Number(first?.total),
    credits: Number(first?.all_credits),
    queries: Number(first?.all_queries),
    rows: rows.flatMap(({ id, credits, queries, first_day, last_day }) =>
      id === null
        ? []
        : [{ id, credits: Number(credits), queries: Number(queries), firstDay: first_day as string, lastDay: last_day as string }],
    ),
  };
}

/** Credits by tier of each of these users or agents. */
export async function readBreakdowns(
  sql: Sql,
  scope: UsageScope,
  by: UsageKey,
  ranked: readonly Ranked[],
  days: Days,
): Promise<Map<string, Record<string, number>>> {
  const params = parameters();
  const scoped = inScope(scope, params);
  const rollup = rollupOf(by === 'user_id' ? { ...scope, userId: 'each' } : { ...scope, agentId: 'each' });
  const totals = joinTotals({
    rollup,
    sameKey: `${scoped('kept')} and kept.${by} = wanted.id and kept.tier = tiers.tier`,
    from: params.add(days.from),
    to: params.add(days.to),
    firstDay: 'wanted.first_day',
  });
  const ids = ranked.map(({ id }) => id);
  const firstDays = ranked.map(({ firstDay }) => firstDay);
  const rows = await sql<Record<'id' | 'tier' | 'credits', string>>(
    `with recursive ${tiersOf(scope, scoped)}
     select wanted.id, tiers.tier, ${creditsOfDays} as credits
     from unnest(${params.add(ids)}::text[], ${params.add(firstDays)}::date[]) as wanted(id, first_day) cross join tiers ${totals}`,
    params.values,
  );
  const breakdowns = new Map(ids.map((id): [string, Record<string, number>] => [id, {}]));
  for (const { id, tier, credits } of rows) Object.assign(breakdowns.get(id) ?? {}, { [tier]: Number(credits) });
  return breakdowns;
}

/** The time of each user's last usage in the scope, looked up on the last day of that user. */
export async function readLastUses(sql: Sql, scope: UsageScope, users: readonly Ranked[]): Promise<Map<string, string>> {
  const params = parameters();
  const scoped = inScope(scope, params);
  const starts = users.map(({ lastDay }) => startOfDay(lastDay));
  const times = (offset: number) => `${params.add(starts.map((at) => new Date(at + offset).toISOString()))}::timestamptz[]`;
  const rows = await sql<Record<'id' | 'at', string>>(
    `select wanted.id, latest.at
     from unnest(${params.add(users.map(({ id }) => id))}::text[], ${times(0)}, ${times(dayMs)}) as wanted(id, from_at, until_at)
     cross join lateral (
       select record.at from usage_records as record
       where ${scoped('record')} and record.user_id = wanted.id and record.at >= wanted.from_at and record.at < wanted.until_at
       order by record.at desc limit 1
     ) as latest`,
    params.values,
  );
  return new Map(rows.map(({ id, at }) => [id, at]));
}

/** The names that agents had in their last use. */
export async function readAgentNames(sql: Sql, { tenant }: UsageScope, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await sql<Record<'id' | 'name', string>>(
    'select agent_id as id, name from usage_agents where organization_id = $1 and environment = $2 and agent_id = any($3::text[])',
    [tenant.organizationId, tenant.environment, ids],
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}
