import { parameters, type Sql } from '@agent-service/store';
import { startOfDay } from '../../domain/calendar.ts';
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
  /** What used the most first; one more than asked for tells that there is a further page. */
  rows: Ranked[];
  /** Of all users or agents, whatever the page. */
  total: number;
  credits: number;
  queries: number;
}

/** Where a page begins: behind this one. */
export type RankedAfter = readonly [credits: number, id: string];

type Row = Record<'total' | 'all_credits' | 'all_queries', string> &
  Record<'id' | 'credits' | 'queries' | 'first_day' | 'last_day', string | null>;

/** The users or agents of the scope by what they used in the days. The cost grows with their number and with nothing else. */
export async function rankUsage(
  sql: Sql,
  scope: UsageScope,
  by: UsageKey,
  days: Days,
  limit: number,
  after?: RankedAfter,
): Promise<Ranking> {
  const given = parameters();
  const scoped = inScope(scope, given);
  const [from, to] = [given.add(days.from), given.add(days.to)];
  const { seen, rollup, tiered } = sourceOf(scope, by);
  const sameKey = `${scoped('kept')} and kept.${by} = seen.${by}${tiered ? ' and kept.tier = tiers.tier' : ''}`;
  const totals = joinTotals({ rollup, sameKey, from, to, firstDay: 'seen.first_day', ...(!tiered && { latest: 'seen' }) });
  const behind = after ? behindOf(given.add(after[0]), given.add(after[1])) : 'true';
  const rows = await sql<Row>(
    `with recursive ${tiered ? `${tiersOf(scope, scoped)},` : ''} used as materialized (
       select seen.${by} as id, sum(${creditsOfDays}) as credits, sum(${queriesOfDays}) as queries,
         min(seen.first_day) as first_day, max(upper.day) as last_day
       from ${seen} as seen ${tiered ? 'cross join tiers' : ''} ${totals}
       where ${scoped('seen')} and seen.first_day <= ${to}::date and seen.last_day >= ${from}::date
       group by seen.${by}
     )
     select all_used.*, page.id, page.credits, page.queries, page.first_day::text, page.last_day::text
     from (
       select count(*) as total, coalesce(sum(credits), 0) as all_credits, coalesce(sum(queries), 0) as all_queries from used
     ) as all_used
     left join lateral (
       select * from used where ${behind} order by credits desc, id limit ${given.add(limit + 1)}::integer
     ) as page on true
     order by page.credits desc, page.id`,
    given.values,
  );
  return toRanking(rows);
}

/** Users as a whole have a rollup without tiers; everything else is added up over them. */
function sourceOf(scope: UsageScope, by: UsageKey): { seen: string; rollup: string; tiered: boolean } {
  const other = by === 'user_id' ? scope.agentId : scope.userId;
  if (other !== '') return { seen: 'usage_user_agents', rollup: 'usage_by_user_agent', tiered: true };
  if (by === 'user_id') return { seen: 'usage_users', rollup: 'usage_user_days', tiered: false };
  return { seen: 'usage_agents', rollup: 'usage_by_agent', tiered: true };
}

const behindOf = (credits: string, id: string) => `(credits < ${credits}::numeric or (credits = ${credits}::numeric and id > ${id}::text))`;

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

const dayMs = 86_400_000;

/** Credits by tier of each of these users or agents. */
export async function breakdowns(
  sql: Sql,
  scope: UsageScope,
  by: UsageKey,
  ranked: readonly Ranked[],
  days: Days,
): Promise<Map<string, Record<string, number>>> {
  const given = parameters();
  const scoped = inScope(scope, given);
  const rollup = rollupOf(by === 'user_id' ? { ...scope, userId: 'each' } : { ...scope, agentId: 'each' });
  const totals = joinTotals({
    rollup,
    sameKey: `${scoped('kept')} and kept.${by} = wanted.id and kept.tier = tiers.tier`,
    from: given.add(days.from),
    to: given.add(days.to),
    firstDay: 'wanted.first_day',
  });
  const ids = ranked.map(({ id }) => id);
  const firstDays = ranked.map(({ firstDay }) => firstDay);
  const rows = await sql<Record<'id' | 'tier' | 'credits', string>>(
    `with recursive ${tiersOf(scope, scoped)}
     select wanted.id, tiers.tier, ${creditsOfDays} as credits
     from unnest(${given.add(ids)}::text[], ${given.add(firstDays)}::date[]) as wanted(id, first_day) cross join tiers ${totals}`,
    given.values,
  );
  const found = new Map(ids.map((id): [string, Record<string, number>] => [id, {}]));
  for (const { id, tier, credits } of rows) Object.assign(found.get(id) ?? {}, { [tier]: Number(credits) });
  return found;
}

/** When each of these users last used something of the scope, given the day of it. */
export async function lastUses(sql: Sql, scope: UsageScope, users: readonly Ranked[]): Promise<Map<string, string>> {
  const given = parameters();
  const scoped = inScope(scope, given);
  const starts = users.map(({ lastDay }) => startOfDay(lastDay));
  const times = (offset: number) => `${given.add(starts.map((at) => new Date(at + offset).toISOString()))}::timestamptz[]`;
  const rows = await sql<Record<'id' | 'at', string>>(
    `select wanted.id, latest.at
     from unnest(${given.add(users.map(({ id }) => id))}::text[], ${times(0)}, ${times(dayMs)}) as wanted(id, from_at, until_at)
     cross join lateral (
       select record.at from usage_records as record
       where ${scoped('record')} and record.user_id = wanted.id and record.at >= wanted.from_at and record.at < wanted.until_at
       order by record.at desc limit 1
     ) as latest`,
    given.values,
  );
  return new Map(rows.map(({ id, at }) => [id, at]));
}

/** The names that agents had when they were used last. */
export async function agentNames(sql: Sql, { tenant }: UsageScope, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await sql<Record<'id' | 'name', string>>(
    'select agent_id as id, name from usage_agents where organization_id = $1 and environment = $2 and agent_id = any($3::text[])',
    [tenant.organizationId, tenant.environment, ids],
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}
