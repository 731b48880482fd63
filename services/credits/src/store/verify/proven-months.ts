import type { Tenant } from '@agent-service/contracts';
import type { Sql } from '@agent-service/store';
import { type Month, monthLabel } from '../../domain/calendar.ts';
import type { Discrepancy } from '../../domain/equations.ts';
import type { LedgerAccount } from '../../domain/state.ts';
import { routes } from '../../domain/workspace.ts';
import { type Day, daysWithRows, maxDiscrepancies } from './steps.ts';

const maxRows = 5_000;
const figures = ['balance', 'held', 'pool', 'spent', 'outside', 'used'] as const;

/** The sums of one user's transfers and usage records in a month. User '' has the transfers without a user. */
export type MonthSums = Record<(typeof figures)[number], number>;

/** The credits that an account received minus those that it gave, by the code of the transfer. */
function netSum(account: LedgerAccount): string {
  const codes = Object.entries(routes).flatMap(([code, { from, to }]) => {
    if (to === account) return [`when '${code}' then amount`];
    return from === account ? [`when '${code}' then -amount`] : [];
  });
  return `coalesce(sum(case code ${codes.join(' ')} else 0 end), 0)`;
}

const tenantValues = ({ organizationId, environment }: Tenant) => [organizationId, environment];

/** The months whose sums are stored. */
export async function provenMonths(sql: Sql, tenant: Tenant): Promise<Set<Month>> {
  const rows = await sql<{ month: Month }>(provenMonthStatements.months, tenantValues(tenant));
  return new Set(rows.map(({ month }) => month));
}

const sumTransfers = `
  select coalesce(user_id, '') as "userId", ${netSum('user')} as balance, ${netSum('holds')} as held, ${netSum('pool')} as pool,
    ${netSum('spent')} as spent, ${netSum('outside')} as outside, 0 as used
  from transfers where organization_id = $1 and environment = $2 and at >= $3 and at < $4 group by user_id`;

const sumRecords = `
  select user_id as "userId", 0 as balance, 0 as held, 0 as pool, 0 as spent, 0 as outside, sum(credits) as used
  from usage_records where organization_id = $1 and environment = $2 and at >= $3 and at < $4 group by user_id`;

export const provenMonthStatements = {
  sumTransfers,
  sumRecords,
  months: "select month from proven_months where organization_id = $1 and environment = $2 and user_id = ''",
  sums: `select user_id as "userId", ${figures.join(', ')} from proven_months where organization_id = $1 and environment = $2 and month = $3`,
  store: `insert into proven_months (organization_id, environment, month, user_id, balance, held, pool, spent, outside, used)
    select $1, $2, $3, row.* from jsonb_to_recordset($4::jsonb) as row(user_id text, balance bigint, held bigint, pool bigint,
      spent bigint, outside bigint, used bigint)
    on conflict do nothing`,
  remove: 'delete from proven_months where organization_id = $1 and environment = $2',
} as const;

/** Adds up a month from the rows of its days. Each statement reads one day, so that it is bounded. */
export async function sumMonth(sql: Sql, tenant: Tenant, days: readonly Day[]): Promise<Map<string, MonthSums>> {
  const sums = new Map([['', zeroSums()]]);
  for (const day of days) {
    for (const statement of [sumTransfers, sumRecords]) {
      for (const row of await sql<Record<keyof MonthSums | 'userId', string>>(statement, [...tenantValues(tenant), ...day]))
        addRow(sums, row);
    }
  }
  return sums;
}

const zeroSums = (): MonthSums => ({ balance: 0, held: 0, pool: 0, spent: 0, outside: 0, used: 0 });

function addRow(sums: Map<string, MonthSums>, row: Record<keyof MonthSums | 'userId', string>): void {
  const total = sums.get(row.userId) ?? zeroSums();
  for (const figure of figures) total[figure] += Number(row[figure]);
  sums.set(row.userId, total);
}

/** The sums of months by user. */
export type SumsByMonth = ReadonlyMap<Month, ReadonlyMap<string, MonthSums>>;

export async function sumMonths(sql: Sql, tenant: Tenant, months: readonly Month[]): Promise<SumsByMonth> {
  const sums = new Map<Month, Map<string, MonthSums>>();
  for (const month of months) sums.set(month, await sumMonth(sql, tenant, await daysWithRows(sql, tenant, month)));
  return sums;
}

/** Stores the sums of months that are over, once, or in place of those of all months. */
export async function storeMonths(
  sql: Sql,
  tenant: Tenant,
  { months, replaced }: { months: SumsByMonth; replaced: boolean },
): Promise<void> {
  if (replaced) await sql(provenMonthStatements.remove, tenantValues(tenant));
  for (const [month, sums] of months) await storeMonth(sql, tenant, month, sums);
}

async function storeMonth(sql: Sql, tenant: Tenant, month: Month, sums: ReadonlyMap<string, MonthSums>): Promise<void> {
  const rows = Array.from(sums, ([userId, of]) => ({ user_id: userId, ...of }));
  for (let first = 0; first < rows.length; first += maxRows) {
    const page = JSON.stringify(rows.slice(first, first + maxRows));
    await sql(provenMonthStatements.store, [...tenantValues(tenant), month, page]);
  }
}

/** The users whose charges of a month are not the credits of their usage records. */
export function compareCharges(month: Month, sums: ReadonlyMap<string, MonthSums>): Discrepancy[] {
  return Array.from(sums, ([userId, { spent, used }]) => ({
    account: accountOf(userId, month),
    equation: 'charges = usage records of the user',
    expected: spent,
    actual: used,
  }))
    .filter(({ expected, actual }) => expected !== actual)
    .slice(0, maxDiscrepancies);
}

const accountOf = (userId: string, month: Month) => `${userId || 'ledger'} (${monthLabel(month)})`;

/** The differences between the sums of a month's rows and its stored sums. */
export async function compareMonth(sql: Sql, tenant: Tenant, month: Month, sums: ReadonlyMap<string, MonthSums>): Promise<Discrepancy[]> {
  const rows = await sql<Record<keyof MonthSums | 'userId', string>>(provenMonthStatements.sums, [...tenantValues(tenant), month]);
  const stored = new Map<string, MonthSums>();
  for (const row of rows) addRow(stored, row);
  const discrepancies: Discrepancy[] = [];
  for (const userId of new Set([...stored.keys(), ...sums.keys()])) {
    const [expected, actual] = [stored.get(userId) ?? zeroSums(), sums.get(userId) ?? zeroSums()];
    for (const figure of figures) {
      if (expected[figure] === actual[figure] || discrepancies.length >= maxDiscrepancies) continue;
      discrepancies.push({
        account: accountOf(userId, month),
        equation: `${figure} of the month = as proven`,
        expected: expected[figure],
        actual: actual[figure],
      });
    }
  }
  return discrepancies;
}
