import { parameters, type Sql } from '@agent-service/store';
import { startOfDay } from '../domain/calendar.ts';
import type { Ranked } from './usage-ranking.ts';
import { type Days, inScope, rollupOf, type UsageKey, type UsageScope } from './usage-scope.ts';
import { creditsOfDays, joinTotals, tiersOf } from './usage-totals.ts';

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
