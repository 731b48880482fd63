import { parameters, type Sql } from '@agent-service/store';
import type { TierDay } from '../domain/usage.ts';
import { type Days, inScope, rollupOf, type UsageScope } from './usage-scope.ts';

/** What the scope used day by day and by tier: at most as many rows as the range has days, times the tiers. */
export async function usageDays(sql: Sql, scope: UsageScope, days: Days): Promise<TierDay[]> {
  const given = parameters();
  const rows = await sql<Record<keyof TierDay, string>>(
    `select kept.day::text as day, kept.tier, kept.credits, kept.queries from ${rollupOf(scope)} as kept
     where ${inScope(scope, given)('kept')} and kept.day between ${given.add(days.from)}::date and ${given.add(days.to)}::date`,
    given.values,
  );
  return rows.map(({ day, tier, credits, queries }) => ({ day, tier, credits: Number(credits), queries: Number(queries) }));
}
