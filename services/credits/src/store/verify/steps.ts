import type { Tenant } from '@agent-service/contracts';
import type { Sql } from '@agent-service/store';
import { type Month, startOfMonth } from '../../domain/calendar.ts';
import { rollups } from '../save.ts';

const dayMs = 86_400_000;
const ofTenant = 'organization_id = $1 and environment = $2';

const isIn = (table: string) =>
  `(select true from ${table} where ${ofTenant} and at >= moment and at < moment + interval '24 hours' limit 1)`;

const daysOf = (table: string) => `
    select day from ${table} where ${ofTenant} and day >= ($3::timestamptz at time zone 'UTC')::date
      and day < ($4::timestamptz at time zone 'UTC')::date`;

/** Reads one record and one transfer of each day at most, and the rollups of the month. */
export const daysStatement = `
  select extract(epoch from moment) * 1000 as "from"
  from generate_series($3::timestamptz, $4::timestamptz - interval '24 hours', interval '24 hours') as moment
  where ${isIn('usage_records')} or ${isIn('transfers')}
    or (moment at time zone 'UTC')::date in (${Object.keys(rollups).map(daysOf).join(' union all ')})
  order by moment`;

/** Its first moment, and that of the next day. */
export type Day = readonly [from: string, until: string];

/** The days of a month on which the tenant has records, transfers or sums: most tenants are idle on most days. */
export async function daysWithRows(sql: Sql, { organizationId, environment }: Tenant, month: Month): Promise<Day[]> {
  const [from, until] = [month, month + 1].map((bound) => new Date(startOfMonth(bound)).toISOString());
  const rows = await sql<{ from: string }>(daysStatement, [organizationId, environment, from, until]);
  return rows.map((row) => [new Date(Number(row.from)).toISOString(), new Date(Number(row.from) + dayMs).toISOString()]);
}
