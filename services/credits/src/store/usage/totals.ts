import type { Tenant } from '@agent-service/contracts';
import { type Parameters, parameters, type Sql } from '@agent-service/store';
import type { TierDay } from '../../domain/usage.ts';

/** The usage of a tenant, or of one of its users or agents. An empty id stands for all. */
export interface UsageScope {
  readonly tenant: Tenant;
  readonly userId: string;
  readonly agentId: string;
}

/** A range of days, both included. `-infinity` and `infinity` are unbounded. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

/** The column by which usage is grouped. */
export type UsageKey = 'user_id' | 'agent_id';

/** The condition for rows of the scope. All parts of a statement share its parameters. */
export function inScope({ tenant, userId, agentId }: UsageScope, { add }: Parameters): (alias: string) => string {
  const columns: [string, string][] = [
    ['organization_id', add(tenant.organizationId)],
    ['environment', add(tenant.environment)],
  ];
  if (userId !== '') columns.push(['user_id', add(userId)]);
  if (agentId !== '') columns.push(['agent_id', add(agentId)]);
  return (alias) => columns.map(([column, place]) => `${alias}.${column} = ${place}`).join(' and ');
}

/** The rollup that has a row by tier and day for exactly this scope. */
export function rollupOf({ userId, agentId }: Pick<UsageScope, 'userId' | 'agentId'>): string {
  if (userId !== '') return agentId === '' ? 'usage_by_user' : 'usage_by_user_agent';
  return agentId === '' ? 'usage_by_tier' : 'usage_by_agent';
}

/** `tiers`: the tiers that the scope ever used, found with one look-up for each tier. For `with recursive`. */
export function tiersOf(scope: UsageScope, scoped: (alias: string) => string): string {
  const next = (more: string) =>
    `(select kept.tier from ${rollupOf(scope)} as kept where ${scoped('kept')} ${more} order by kept.tier limit 1)`;
  return `found_tiers(tier) as (
    ${next('')} union all select ${next('and kept.tier > found_tiers.tier')} from found_tiers where found_tiers.tier is not null
  ), tiers as (select tier from found_tiers where tier is not null)`;
}

interface Totals {
  rollup: string;
  /** The condition that `kept`, a row of the rollup, has the key. */
  sameKey: string;
  from: string;
  to: string;
  /** The first day of the key: if it is not before the range, nothing has to be looked up there. */
  firstDay?: string;
  /** A relation with the last day of the key and its latest totals, which are those of all later days. */
  latest?: string;
}

/**
 * Joins the running totals at the end of the range and before it: the usage of a key is `upper` minus `lower`. A key without usage in the
 * range has no row. Takes at most two look-ups for each key.
 */
export function joinTotals({ rollup, sameKey, from, to, firstDay, latest }: Totals): string {
  const lookUp = (condition: string) =>
    `select kept.day, kept.credits_total, kept.queries_total from ${rollup} as kept
     where ${sameKey} and ${condition} order by kept.day desc limit 1`;
  const upper = latest
    ? `select ${latest}.last_day as day, ${latest}.credits_total, ${latest}.queries_total where ${latest}.last_day <= ${to}::date
       union all (${lookUp(`kept.day <= ${to}::date and ${latest}.last_day > ${to}::date`)})`
    : lookUp(`kept.day <= ${to}::date`);
  return `
    join lateral (${upper}) as upper on upper.day >= ${from}::date
    left join lateral (
      ${lookUp(`kept.day < ${from}::date${firstDay ? ` and ${firstDay} < ${from}::date` : ''}`)}
    ) as lower on true`;
}

export const creditsOfDays = 'upper.credits_total - coalesce(lower.credits_total, 0)';
export const queriesOfDays = 'upper.queries_total - coalesce(lower.queries_total, 0)';

export interface TierTotal {
  tier: string;
  credits: number;
  queries: number;
}

/** The usage of the scope in the days, by tier. */
export async function tierTotals(sql: Sql, scope: UsageScope, days: Days): Promise<TierTotal[]> {
  const params = parameters();
  const scoped = inScope(scope, params);
  const totals = joinTotals({
    rollup: rollupOf(scope),
    sameKey: `${scoped('kept')} and kept.tier = tiers.tier`,
    from: params.add(days.from),
    to: params.add(days.to),
  });
  const rows = await sql<Record<keyof TierTotal, string>>(
    `with recursive ${tiersOf(scope, scoped)}
     select tiers.tier, ${creditsOfDays} as credits, ${queriesOfDays} as queries from tiers ${totals} order by tiers.tier`,
    params.values,
  );
  return rows.map(({ tier, credits, queries }) => ({ tier, credits: Number(credits), queries: Number(queries) }));
}

/** The usage of the scope by day and tier: at most one row for each day and tier. */
export async function usageDays(sql: Sql, scope: UsageScope, days: Days): Promise<TierDay[]> {
  const params = parameters();
  const rows = await sql<Record<keyof TierDay, string>>(
    `select kept.day::text as day, kept.tier, kept.credits, kept.queries from ${rollupOf(scope)} as kept
     where ${inScope(scope, params)('kept')} and kept.day between ${params.add(days.from)}::date and ${params.add(days.to)}::date`,
    params.values,
  );
  return rows.map(({ day, tier, credits, queries }) => ({ day, tier, credits: Number(credits), queries: Number(queries) }));
}
