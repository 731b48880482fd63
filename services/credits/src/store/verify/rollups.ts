import type { Tenant } from '@agent-service/contracts';
import type { Sql } from '@agent-service/store';
import { type Month, monthLabel } from '../../domain/calendar.ts';
import type { Discrepancy } from '../../domain/equations.ts';
import { rollups } from '../save.ts';
import { boundsOfMonth, type DayBounds, findDiscrepancies, maxDiscrepancies } from './steps.ts';

/** Compares one month's rollups and counts of users with its records, and its running totals with those before. */
export async function verifyMonth(sql: Sql, tenant: Tenant, month: Month, days: readonly DayBounds[]): Promise<Discrepancy[]> {
  const values = [tenant.organizationId, tenant.environment, ...boundsOfMonth(month)];
  const discrepancies = await verifyRecords(sql, tenant, days);
  for (const statement of Object.values(monthStatements)) {
    discrepancies.push(...(await findDiscrepancies(sql, statement, values)));
  }
  return discrepancies.map((discrepancy) => ({ ...discrepancy, account: `${discrepancy.account} (${monthLabel(month)})` }));
}

const doubledRecords = `
  select concat_ws(' ', 'hold', hold_id) as account, 'one record a hold' as equation, 1 as expected, count(*) as actual
  from usage_records where organization_id = $1 and environment = $2 and at >= $3 and at < $4
  group by hold_id having count(*) > 1 limit $5`;

/** A settled hold has one record, and one charge at the same time unless that is 0. So a record that exists twice has one charge too few. */
const chargesOfDay = `
  select concat_ws(' ', 'usage_records', ($3::timestamptz at time zone 'UTC')::date) as account,
    'records with credits = charges' as equation, charges as expected, records as actual
  from (select
    (select count(*) from transfers where organization_id = $1 and environment = $2 and code = 'charge' and at >= $3 and at < $4) as charges,
    (select count(*) from usage_records where organization_id = $1 and environment = $2 and credits > 0 and at >= $3 and at < $4) as records
  ) as counted where charges <> records limit $5`;

/** Compares the records of a month with its rollups. Each statement reads one day, so that it is bounded. */
async function verifyRecords(sql: Sql, { organizationId, environment }: Tenant, days: readonly DayBounds[]): Promise<Discrepancy[]> {
  const discrepancies: Discrepancy[] = [];
  for (const day of days) {
    for (const statement of Object.values(dayStatements)) {
      if (discrepancies.length >= maxDiscrepancies) break;
      discrepancies.push(...(await findDiscrepancies(sql, statement, [organizationId, environment, ...day])));
    }
  }
  return discrepancies;
}

const accountName = (table: string, columns: readonly string[]) => `concat_ws(' ', '${table}', ${columns.join(', ')})`;

const dayBegin = `($3::timestamptz at time zone 'UTC')::date`;
const dayOfTenant = `organization_id = $1 and environment = $2 and day = ${dayBegin}`;

/** The smallest rollup: all its rows of a day are compared with the records, and the days of the others with it. */
const smallest = 'usage_by_tier';

/** All rows of a day, with records or not. */
const joinDay = (table: string, keys: readonly string[]) =>
  `full join (select ${keys.join(', ')}, credits, queries from ${table} where ${dayOfTenant}) as kept using (${keys.join(', ')})`;

/** One look-up for each key with records, because of its limit: no rollup has an index by day, and would be read as a whole for each day. */
const lookUpKeys = (table: string, keys: readonly string[]) => `left join lateral (
      select credits, queries from ${table} as summed
      where ${dayOfTenant} and ${keys.map((key) => `summed.${key} = records.${key}`).join(' and ')} limit 1
    ) as kept on true`;

/** Compares a day of one rollup with `recorded`, the sums of the day's records. */
function compareDay(table: string, keys: readonly string[]): string {
  const columns = keys.join(', ');
  const join = table === smallest ? joinDay : lookUpKeys;
  return `
    select ${accountName(table, [...keys, dayBegin])} as account, figure as equation, expected, actual
    from (select ${columns}, sum(credits) as credits, sum(queries) as queries from recorded group by ${columns}) as records
    ${join(table, keys)}, lateral (values
      ('credits = usage records', coalesce(records.credits, 0), coalesce(kept.credits, 0)),
      ('queries = usage records', coalesce(records.queries, 0), coalesce(kept.queries, 0))
    ) as compared(figure, expected, actual)
    where expected <> actual`;
}

/** Reads the records of a day once for all rollups. */
const sumsOfDay = `
  with recorded as materialized (
    select user_id, agent_id, tier, sum(credits) as credits, count(*) as queries
    from usage_records where organization_id = $1 and environment = $2 and at >= $3 and at < $4 group by user_id, agent_id, tier
  )
  ${Object.entries(rollups)
    .map(([table, keys]) => compareDay(table, keys))
    .join(' union all ')} limit $5`;

/** Compares the days of a rollup with the smallest one: a day has another sum where the rollup has rows without records. */
function sumsOfDays(table: string): string {
  const sums = (from: string) => `
    select day, sum(credits) as credits, sum(queries) as queries from ${from}
    where organization_id = $1 and environment = $2 and day >= ${dayBegin}
      and day < ($4::timestamptz at time zone 'UTC')::date group by day`;
  return `
    select ${accountName(table, ['day'])} as account, figure as equation, expected, actual
    from (${sums(smallest)}) as tiers full join (${sums(table)}) as kept using (day), lateral (values
      ('credits = those by tier', coalesce(tiers.credits, 0), coalesce(kept.credits, 0)),
      ('queries = those by tier', coalesce(tiers.queries, 0), coalesce(kept.queries, 0))
    ) as compared(figure, expected, actual)
    where expected <> actual limit $5`;
}

/** Compares the running totals of a month's rows, beginning with the last row before the month. */
function runningTotals(table: string, keys: readonly string[]): string {
  const partition = keys.join(', ');
  const before = (column: string) => `coalesce(lag(${column}) over running, (
        select earlier.${column} from ${table} as earlier
        where earlier.organization_id = $1 and earlier.environment = $2 and ${keys.map((key) => `earlier.${key} = kept.${key}`).join(' and ')}
          and earlier.day < kept.day order by earlier.day desc limit 1), 0)`;
  return `
    with days as (
      select ${partition}, day, credits, queries, credits_total, queries_total,
        ${before('credits_total')} as credits_before, ${before('queries_total')} as queries_before
      from ${table} as kept where organization_id = $1 and environment = $2 and day >= ($3::timestamptz at time zone 'UTC')::date
        and day < ($4::timestamptz at time zone 'UTC')::date
      window running as (partition by ${partition} order by day)
    )
    select ${accountName(table, [...keys, 'day'])} as account, figure as equation, expected, actual
    from days, lateral (values
      ('running credits = those before + the day', credits_before + credits, credits_total),
      ('running queries = those before + the day', queries_before + queries, queries_total)
    ) as compared(figure, expected, actual)
    where expected <> actual limit $5`;
}

/** Compares counts of users with the finest rollup, which was compared with the records. A week belongs to the month in which it begins. */
function uniqueUsers(grain: string): string {
  const period = `date_trunc('${grain}', day)::date`;
  return `
    with seen as (
      select distinct agent_id, user_id, ${period} as period from usage_by_user_agent
      where organization_id = $1 and environment = $2 and ${period} >= ($3::timestamptz at time zone 'UTC')::date
        and ${period} < ($4::timestamptz at time zone 'UTC')::date
        and day >= ($3::timestamptz at time zone 'UTC')::date and day < ($4::timestamptz at time zone 'UTC')::date + 7
    ), counted as (
      select agent_id, period, count(*) as users from seen group by agent_id, period
      union all select '', period, count(distinct user_id) from seen group by period
    ), kept as (
      select agent_id, period, users from usage_unique_users
      where organization_id = $1 and environment = $2 and grain = '${grain}' and period >= ($3::timestamptz at time zone 'UTC')::date
        and period < ($4::timestamptz at time zone 'UTC')::date
    )
    select concat_ws(' ', 'usage_unique_users', agent_id, '${grain}', period) as account, 'users = those with records' as equation,
      coalesce(counted.users, 0) as expected, coalesce(kept.users, 0) as actual
    from counted full join kept using (agent_id, period) where counted.users is distinct from kept.users limit $5`;
}

const dayStatements = { sumsOfDay, doubledRecords, chargesOfDay };

const monthStatements: Readonly<Record<string, string>> = Object.fromEntries([
  ...Object.keys(rollups)
    .filter((table) => table !== smallest)
    .map((table) => [`days of ${table}`, sumsOfDays(table)]),
  ...Object.entries(rollups).map(([table, keys]) => [`totals of ${table}`, runningTotals(table, keys)]),
  ...['day', 'week', 'month'].map((grain) => [`users of a ${grain}`, uniqueUsers(grain)]),
]);

export const rollupStatements = { ...dayStatements, ...monthStatements };
