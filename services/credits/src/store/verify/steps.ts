import type { Tenant } from '@agent-service/contracts';
import type { Sql, Store } from '@agent-service/store';
import { dayMs, type Month, startOfMonth } from '../../domain/calendar.ts';
import type { Discrepancy } from '../../domain/equations.ts';
import { rollups } from '../save.ts';

/** A statement reads at most a day of records or transfers, or the rollups of a tenant. That may take longer than the usual limit. */
const statementLimitMs = 25_000;

/** Reads everything as of one instant, so that a verification is correct while the database is written. */
export function inSnapshot<T>(store: Store, work: (sql: Sql) => Promise<T>): Promise<T> {
  return store.transaction(
    async ({ sql }) => {
      await sql('set transaction isolation level repeatable read, read only');
      // All joins here are of complete sums. Without statistics the planner expects one row of each and would choose nested loops.
      await sql('set local enable_nestloop = off');
      return await work(sql);
    },
    { statementLimitMs },
  );
}

/** The next tenant with a ledger: of one organization, or of all if `organizationId` is empty. */
export async function nextTenant(sql: Sql, organizationId: string, after: Tenant | undefined): Promise<Tenant | undefined> {
  const [row] = await sql<Tenant>(nextTenantStatement, [organizationId, after?.organizationId ?? '', after?.environment ?? '']);
  return row;
}

const nextTenantStatement = `
  select organization_id as "organizationId", environment from ledgers
  where (organization_id, environment) > ($2, $3) and ($1 = '' or organization_id = $1)
  order by organization_id, environment limit 1`;

/** The months that have transfers, records or sums of the tenant, oldest first. */
export async function ledgerMonths(sql: Sql, { organizationId, environment }: Tenant): Promise<Month[]> {
  const rows = await sql<{ month: number }>(ledgerMonthsStatement, [organizationId, environment]);
  return rows.map(({ month }) => month);
}

const ledgerMonthsStatement = `
    select distinct (extract(year from day) * 12 + extract(month from day) - 1)::int as month from (
       select day from usage_by_tier where organization_id = $1 and environment = $2
       union select day from usage_by_user_agent where organization_id = $1 and environment = $2
       union select generate_series(date_trunc('month', min(at)), max(at), '1 month')::date from usage_records
         where organization_id = $1 and environment = $2
       union select generate_series(date_trunc('month', min(at)), max(at), '1 month')::date from transfers
         where organization_id = $1 and environment = $2
     ) as days order by month`;

/** The condition on rows of the tenant that the first two parameters of a statement name. */
export const ofTenant = 'organization_id = $1 and environment = $2';

const isIn = (table: string) =>
  `(select true from ${table} where ${ofTenant} and at >= moment and at < moment + interval '24 hours' limit 1)`;

const daysOf = (table: string) => `
    select day from ${table} where ${ofTenant} and day >= ($3::timestamptz at time zone 'UTC')::date
      and day < ($4::timestamptz at time zone 'UTC')::date`;

/** Reads one record and one transfer of each day at most, and the rollups of the month. */
const daysStatement = `
  select extract(epoch from moment) * 1000 as "from"
  from generate_series($3::timestamptz, $4::timestamptz - interval '24 hours', interval '24 hours') as moment
  where ${isIn('usage_records')} or ${isIn('transfers')}
    or (moment at time zone 'UTC')::date in (${Object.keys(rollups).map(daysOf).join(' union all ')})
  order by moment`;

/** The first moment of a day, and of the next day. */
export type DayBounds = readonly [from: string, until: string];

/** The first moment of a month, and of the next month. */
export const boundsOfMonth = (month: Month): readonly [from: string, until: string] => [firstMoment(month), firstMoment(month + 1)];

const firstMoment = (month: Month) => new Date(startOfMonth(month)).toISOString();

/** The days of a month on which the tenant has records, transfers or sums: most tenants are idle on most days. */
export async function daysWithRows(sql: Sql, { organizationId, environment }: Tenant, month: Month): Promise<DayBounds[]> {
  const rows = await sql<{ from: string }>(daysStatement, [organizationId, environment, ...boundsOfMonth(month)]);
  return rows.map((row) => [new Date(Number(row.from)).toISOString(), new Date(Number(row.from) + dayMs).toISOString()]);
}

/** The limit of discrepancies that one step of a verification reports. */
export const maxDiscrepancies = 100;

/** The discrepancies that a statement finds. Its last parameter is `maxDiscrepancies`, which this adds to the values. */
export async function findDiscrepancies(sql: Sql, statement: string, values: readonly string[]): Promise<Discrepancy[]> {
  const rows = await sql<Record<keyof Discrepancy, string>>(statement, [...values, maxDiscrepancies]);
  return rows.map((row) => ({ ...row, expected: Number(row.expected), actual: Number(row.actual) }));
}

export const stepStatements = { nextTenant: nextTenantStatement, ledgerMonths: ledgerMonthsStatement, daysWithRows: daysStatement };
