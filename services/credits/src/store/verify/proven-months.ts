import type { Sql } from '@agent-service/store';
import type { Tenant } from '../../domain/accounts.ts';
import { type Month, monthLabel, startOfMonth } from '../../domain/calendar.ts';
import type { Discrepancy } from '../../domain/equations.ts';
import type { Place } from '../../domain/state.ts';
import { ROUTES } from '../../domain/workspace.ts';

const dayMs = 86_400_000;
const rowsAtOnce = 5_000;
const faultsAtMost = 100;
const figures = ['balance', 'held', 'pool', 'spent', 'outside', 'used'] as const;

/** What a month's transfers and usage records add up to for one user, or, as user '', for transfers without one. */
export type MonthSums = Record<(typeof figures)[number], number>;

/** What a place got less what it gave, by the routes of the domain. */
function net(place: Place): string {
  const codes = Object.entries(ROUTES).flatMap(([code, { from, to }]) => {
    if (to === place) return [`when '${code}' then amount`];
    return from === place ? [`when '${code}' then -amount`] : [];
  });
  return `coalesce(sum(case code ${codes.join(' ')} else 0 end), 0)`;
}

const tenantOf = ({ organizationId, environment }: Tenant) => [organizationId, environment];

/** The months whose sums are kept. */
export async function provenMonths(sql: Sql, tenant: Tenant): Promise<Set<Month>> {
  const rows = await sql<{ month: Month }>(
    "select month from proven_months where organization_id = $1 and environment = $2 and user_id = ''",
    tenantOf(tenant),
  );
  return new Set(rows.map(({ month }) => month));
}

const moved = `
  select coalesce(user_id, '') as "userId", ${net('user')} as balance, ${net('holds')} as held, ${net('pool')} as pool,
    ${net('spent')} as spent, ${net('outside')} as outside, 0 as used
  from transfers where organization_id = $1 and environment = $2 and at >= $3 and at < $4 group by user_id`;

const recorded = `
  select user_id as "userId", 0 as balance, 0 as held, 0 as pool, 0 as spent, 0 as outside, sum(credits) as used
  from usage_records where organization_id = $1 and environment = $2 and at >= $3 and at < $4 group by user_id`;

/** Adds up a month from its rows, a day a statement: however many there are, each statement is bounded by a day. */
export async function sumMonth(sql: Sql, tenant: Tenant, month: Month): Promise<Map<string, MonthSums>> {
  const sums = new Map([['', none()]]);
  for (let from = startOfMonth(month); from < startOfMonth(month + 1); from += dayMs) {
    const values = [...tenantOf(tenant), new Date(from).toISOString(), new Date(from + dayMs).toISOString()];
    for (const statement of [moved, recorded]) {
      for (const row of await sql<Record<keyof MonthSums | 'userId', string>>(statement, values)) add(sums, row);
    }
  }
  return sums;
}

const none = (): MonthSums => ({ balance: 0, held: 0, pool: 0, spent: 0, outside: 0, used: 0 });

function add(sums: Map<string, MonthSums>, row: Record<keyof MonthSums | 'userId', string>): void {
  const total = sums.get(row.userId) ?? none();
  for (const figure of figures) total[figure] += Number(row[figure]);
  sums.set(row.userId, total);
}

/** Keeps the sums of a month that is over, once. */
export async function keepMonth(sql: Sql, tenant: Tenant, month: Month, sums: ReadonlyMap<string, MonthSums>): Promise<void> {
  const rows = Array.from(sums, ([userId, of]) => ({ user_id: userId, ...of }));
  for (let first = 0; first < rows.length; first += rowsAtOnce) {
    await sql(
      `insert into proven_months (organization_id, environment, month, user_id, balance, held, pool, spent, outside, used)
       select $1, $2, $3, row.* from jsonb_to_recordset($4::jsonb) as row(user_id text, balance bigint, held bigint, pool bigint,
         spent bigint, outside bigint, used bigint)
       on conflict do nothing`,
      [...tenantOf(tenant), month, JSON.stringify(rows.slice(first, first + rowsAtOnce))],
    );
  }
}

/** Where a month's rows no longer add up to what was kept of it. */
export async function compareMonth(sql: Sql, tenant: Tenant, month: Month, sums: ReadonlyMap<string, MonthSums>): Promise<Discrepancy[]> {
  const rows = await sql<Record<keyof MonthSums | 'userId', string>>(
    `select user_id as "userId", ${figures.join(', ')} from proven_months where organization_id = $1 and environment = $2 and month = $3`,
    [...tenantOf(tenant), month],
  );
  const kept = new Map<string, MonthSums>();
  for (const row of rows) add(kept, row);
  const found: Discrepancy[] = [];
  for (const userId of new Set([...kept.keys(), ...sums.keys()])) {
    const [expected, actual] = [kept.get(userId) ?? none(), sums.get(userId) ?? none()];
    for (const figure of figures) {
      if (expected[figure] === actual[figure] || found.length >= faultsAtMost) continue;
      const account = `${userId || 'ledger'} (${monthLabel(month)})`;
      found.push({ account, equation: `${figure} of the month = as proven`, expected: expected[figure], actual: actual[figure] });
    }
  }
  return found;
}
