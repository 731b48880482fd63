import { parameters, type Sql } from '@agent-service/store';
import { type Days, inScope, type UsageKey, type UsageScope } from './usage-scope.ts';
import { creditsOfDays, joinTotals, queriesOfDays, tiersOf } from './usage-totals.ts';

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
