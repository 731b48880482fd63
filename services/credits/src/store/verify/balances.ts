import type { Tenant } from '@agent-service/contracts';
import type { Sql } from '@agent-service/store';
import type { Ledger } from '../../domain/accounts.ts';
import type { Month } from '../../domain/calendar.ts';
import { allocatedTo, checkLedger, checkUser, type Discrepancy, type LedgerFigures, type UserFigures } from '../../domain/equations.ts';
import { findLedger, toUser, type UserRow, userColumns } from '../load.ts';
import { type MonthSums, sumMonth } from './proven-months.ts';
import { daysWithRows, maxDiscrepancies, ofTenant } from './steps.ts';

const pageSize = 1_000;

/** The sums of the months that are not proven, by user. User '' has the transfers without a user. */
type OpenMonths = ReadonlyMap<Month, ReadonlyMap<string, MonthSums>>;

/**
 * Compares one tenant's balances with its transfers, holds and records, in one snapshot. Proven months count with their stored sums; the
 * others are read a day in each statement.
 */
export async function verifyBalances(sql: Sql, tenant: Tenant, openMonths: readonly Month[]): Promise<Discrepancy[]> {
  const ledger = await findLedger(sql, tenant);
  if (ledger === undefined) return [];
  const open = new Map<Month, Map<string, MonthSums>>();
  for (const month of openMonths) open.set(month, await sumMonth(sql, tenant, await daysWithRows(sql, tenant, month)));
  const discrepancies: Discrepancy[] = [];
  let allocated = 0;
  for await (const user of readUserFigures(sql, tenant, open)) {
    allocated += allocatedTo(user.account);
    if (discrepancies.length < maxDiscrepancies) discrepancies.push(...checkUser(user));
  }
  return [...discrepancies, ...checkLedger(await readLedgerFigures(sql, ledger, tenant, open), allocated)];
}

/** Sums of proven months, and open holds without an account. */
const ledgerSums = `
  select coalesce(sum(pool), 0) as pool, coalesce(sum(spent), 0) as spent, coalesce(sum(outside), 0) as outside, coalesce(sum(used), 0) as used,
    (select coalesce(sum(amount), 0) from holds where ${ofTenant} and ended_at is null
       and not exists (select 1 from user_accounts as account where account.organization_id = $1 and account.environment = $2
         and account.user_id = holds.user_id)) as stray
  from proven_months where ${ofTenant}`;

async function readLedgerFigures(
  sql: Sql,
  ledger: Ledger,
  { organizationId, environment }: Tenant,
  open: OpenMonths,
): Promise<LedgerFigures> {
  const [proven] = await sql<Record<'pool' | 'spent' | 'outside' | 'used' | 'stray', string>>(ledgerSums, [organizationId, environment]);
  const total = (figure: 'pool' | 'spent' | 'outside' | 'used') => {
    let sum = Number(proven?.[figure]);
    for (const users of open.values()) for (const sums of users.values()) sum += sums[figure];
    return sum;
  };
  return {
    ledger,
    strayHolds: Number(proven?.stray),
    poolByTransfers: total('pool'),
    spentByTransfers: total('spent'),
    issuedByTransfers: -total('outside'),
    spentByRecords: total('used'),
  };
}

interface UserFiguresRow extends UserRow {
  open_holds: string;
  proven_balance: string;
  proven_held: string;
  proven_used: string;
}

/** All users in one pass over their holds and the sums of their proven months. */
const userFiguresStatement = `
   with moved as (
     select user_id, sum(balance) as balance, sum(held) as held from proven_months where ${ofTenant} and user_id <> '' group by user_id
   ), opened as (
     select user_id, sum(amount) as amount from holds where ${ofTenant} and ended_at is null group by user_id
   )
   select ${userColumns('account')}, coalesce(opened.amount, 0) as open_holds, coalesce(moved.balance, 0) as proven_balance,
     coalesce(moved.held, 0) as proven_held, coalesce(used.used, 0) as proven_used
   from user_accounts as account left join moved using (user_id) left join opened using (user_id)
   left join proven_months as used on used.organization_id = $1 and used.environment = $2 and used.month = account.month
     and used.user_id = account.user_id
   where account.organization_id = $1 and account.environment = $2`;

/** Reads all users page by page with a cursor of the database. */
async function* readUserFigures(sql: Sql, { organizationId, environment }: Tenant, open: OpenMonths): AsyncGenerator<UserFigures> {
  await sql(`declare user_figures no scroll cursor for ${userFiguresStatement}`, [organizationId, environment]);
  for (;;) {
    const rows = await sql<UserFiguresRow>(`fetch ${pageSize} from user_figures`);
    for (const row of rows) yield toUserFigures(row, open);
    if (rows.length < pageSize) break;
  }
  await sql('close user_figures');
}

function toUserFigures(row: UserFiguresRow, open: OpenMonths): UserFigures {
  const account = toUser(row);
  const sumOfOpenMonths = (figure: 'balance' | 'held') => {
    let sum = 0;
    for (const users of open.values()) sum += users.get(account.userId)?.[figure] ?? 0;
    return sum;
  };
  return {
    account,
    openHolds: Number(row.open_holds),
    balanceByTransfers: Number(row.proven_balance) + sumOfOpenMonths('balance'),
    heldByTransfers: Number(row.proven_held) + sumOfOpenMonths('held'),
    usedByRecords: Number(row.proven_used) + (open.get(account.month)?.get(account.userId)?.used ?? 0),
  };
}

export const balanceStatements = { ledgerSums, userFigures: userFiguresStatement };
