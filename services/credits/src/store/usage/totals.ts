import { type Parameters, parameters, type Sql } from '@agent-service/store';
import type { Tenant } from '../../domain/accounts.ts';
import type { TierDay } from '../../domain/usage.ts';

/** Whose usage is asked for; '' stands for everyone and every agent. */
export interface UsageScope {
  readonly tenant: Tenant;
  readonly userId: string;
  readonly agentId: string;
}

/** Days as they are compared in statements, both included; infinity and -infinity are open. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

/** What users and agents are grouped by. */
export type UsageKey = 'user_id' | 'agent_id';

/** The condition that keeps rows to the scope, written once a statement so that its parts share their parameters. */
export function inScope({ tenant, userId, agentId }: UsageScope, { add }: Parameters): (alias: string) => string {
  const columns: [string, string][] = [
    ['organization_id', add(tenant.organizationId)],
    ['environment', add(tenant.environment)],
  ];
  if (userId !== '') columns.push(['user_id', add(userId)]);
  if (agentId !== '') columns.push(['agent_id', add(agentId)]);
  return (alias) => columns.map(([column, place]) => `${alias}.${column} = ${place}`).join(' and ');
}

/** The rollup whose rows, by tier and day, are about just this. */
export function rollupOf({ userId, agentId }: Pick<UsageScope, 'userId' | 'agentId'>): string {
  if (userId !== '') return agentId === '' ? 'usage_by_user' : 'usage_by_user_agent';
  return agentId === '' ? 'usage_by_tier' : 'usage_by_agent';
}

/** `tiers`, the tiers that the scope ever used: one look-up a tier, however many rows there are. For `with recursive`. */
export function tiersOf(scope: UsageScope, scoped: (alias: string) => string): string {
  const next = (more: string) =>
    `(select kept.tier from ${rollupOf(scope)} as kept where ${scoped('kept')} ${more} order by kept.tier limit 1)`;
  return `found(tier) as (
    ${next('')} union all select ${next('and kept.tier > found.tier')} from found where found.tier is not null
  ), tiers as (select tier from found where tier is not null)`;
}

interface Totals {
  rollup: string;
  /** The condition by which `kept`, a row of the rollup, is of the key. */
  sameKey: string;
  from: string;
  to: string;
  /** The key's first day: with nothing before the days, nothing has to be looked up there. */
  firstDay?: string;
  /** A relation with the key's last day and totals up to now, which are those of all days that follow. */
  latest?: string;
}

/**
 * Joins the running totals that end and precede the days: `upper` less `lower` is what the key used in them, and a key
 * without use in them drops out. Two look-ups a key at most, however many records and days there are.
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

/** What the scope used in the days, by tier. */
export async function tierTotals(sql: Sql, scope: UsageScope, days: Days): Promise<TierTotal[]> {
  const given = parameters();
  const scoped = inScope(scope, given);
  const totals = joinTotals({
    rollup: rollupOf(scope),
    sameKey: `${scoped('kept')} and kept.tier = tiers.tier`,
    from: given.add(days.from),
    to: given.add(days.to),
  });
  const rows = await sql<Record<keyof TierTotal, string>>(
    `with recursive ${tiersOf(scope, scoped)}
     select tiers.tier, ${creditsOfDays} as credits, ${queriesOfDays} as queries from tiers ${totals} order by tiers.tier`,
    given.values,
  );
  return rows.map(({ tier, credits, queries }) => ({ tier, credits: Number(credits), queries: Number(queries) }));
}

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
