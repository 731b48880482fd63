import type { Tenant } from '@agent-service/contracts';
import type { Sql } from '@agent-service/store';
import { type Month, monthLabel } from '../../domain/calendar.ts';
import type { Discrepancy } from '../../domain/equations.ts';
import type { LedgerAccount } from '../../domain/state.ts';
import { routes } from '../../domain/workspace.ts';
import { type DayBounds, daysWithRows, maxDiscrepancies } from './steps.ts';

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
  accounts: 'select user_id as "userId" from user_accounts where organization_id = $1 and environment = $2 and month = $3',
  sums: `select user_id as "userId", ${figures.join(', ')} from proven_months where organization_id = $1 and environment = $2 and month = $3`,
  store: `insert into proven_months (organization_id, environment, month, user_id, balance, held, pool, spent, outside, used)
    select $1, $2, $3, row.* from jsonb_to_recordset($4::jsonb) as row(user_id text, balance bigint, held bigint, pool bigint,
      spent bigint, outside bigint, used bigint)
    on conflict do nothing`,
  remove: 'delete from proven_months where organization_id = $1 and environment = $2',
} as const;

/** Adds up a month from the rows of its days. Each statement reads one day, so that it is bounded. */
export async function sumMonth(sql: Sql, tenant: Tenant, days: readonly DayBounds[]): Promise<Map<string, MonthSums>> {
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

/** The sums of several months. Only one month at a time is held with its users: an old ledger has many. */
export interface Totals {
  readonly ledger: MonthSums;
  /** Each user's sums; `used` is that of the account's month. */
  readonly users: Map<string, Pick<MonthSums, 'balance' | 'held' | 'used'>>;
  /** Where the charges of a month are not the credits of its usage records. */
  readonly faults: Discrepancy[];
}

export async function totalMonths(sql: Sql, tenant: Tenant, months: readonly Month[]): Promise<Totals> {
  const totals: Totals = { ledger: zeroSums(), users: new Map(), faults: [] };
  for (const month of months) {
    const sums = await sumMonth(sql, tenant, await daysWithRows(sql, tenant, month));
    totals.faults.push(...compareCharges(month, sums));
    const accounts = await sql<{ userId: string }>(provenMonthStatements.accounts, [...tenantValues(tenant), month]);
    addMonth(totals, sums, new Set(accounts.map(({ userId }) => userId)));
  }
  return totals;
}

/** `accounts` are the users whose account is in this month. */
function addMonth({ ledger, users }: Totals, sums: ReadonlyMap<string, MonthSums>, accounts: ReadonlySet<string>): void {
  for (const [userId, ofMonth] of sums) {
    for (const figure of figures) ledger[figure] += ofMonth[figure];
    const total = users.get(userId) ?? { balance: 0, held: 0, used: 0 };
    total.balance += ofMonth.balance;
    total.held += ofMonth.held;
    if (accounts.has(userId)) total.used += ofMonth.used;
    users.set(userId, total);
  }
}

export async function removeMonths(sql: Sql, tenant: Tenant): Promise<void> {
  await sql(provenMonthStatements.remove, tenantValues(tenant));
}

/** Stores the sums of a month that is over, once. */
export async function storeMonth(sql: Sql, tenant: Tenant, month: Month, sums: ReadonlyMap<string, MonthSums>): Promise<void> {
  const rows = [...sums];
  for (let first = 0; first < rows.length; first += maxRows) {
    const page = rows.slice(first, first + maxRows).map(([userId, of]) => ({ user_id: userId, ...of }));
    await sql(provenMonthStatements.store, [...tenantValues(tenant), month, JSON.stringify(page)]);
  }
}

/** The users whose charges of a month are not the credits of their usage records. */
export function compareCharges(month: Month, sums: ReadonlyMap<string, MonthSums>): Discrepancy[] {
  const discrepancies: Discrepancy[] = [];
  for (const [userId, { spent, used }] of sums) {
    if (spent === used || discrepancies.length >= maxDiscrepancies) continue;
    const account = accountOf(userId, month);
    discrepancies.push({ account, equation: 'charges = usage records of the user', expected: spent, actual: used });
  }
  return discrepancies;
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
