import type { Tenant } from '@agent-service/contracts';
import type { Sql } from '@agent-service/store';
import type { Ledger } from '../../domain/accounts.ts';
import type { Month } from '../../domain/calendar.ts';
import { allocatedTo, checkLedger, checkUser, type Discrepancy, type LedgerFigures, type UserFigures } from '../../domain/equations.ts';
import { findLedger, toUser, type UserRow, userColumns } from '../load.ts';
import type { Totals } from './proven-months.ts';
import { maxDiscrepancies, ofTenant } from './steps.ts';

const pageSize = 1_000;

/**
 * Compares one tenant's balances with its transfers, holds and records, in one snapshot. Proven months count with their stored sums up to
 * `lastProven`; of the others the totals are given.
 */
export async function verifyBalances(sql: Sql, tenant: Tenant, open: Totals, lastProven: Month): Promise<Discrepancy[]> {
  const ledger = await findLedger(sql, tenant);
  if (ledger === undefined) return [];
  const counted = { tenant, open, lastProven };
  const discrepancies: Discrepancy[] = [...open.faults];
  let allocated = 0;
  for await (const user of readUserFigures(sql, counted)) {
    allocated += allocatedTo(user.account);
    if (discrepancies.length < maxDiscrepancies) discrepancies.push(...checkUser(user));
  }
  return [...discrepancies, ...checkLedger(await readLedgerFigures(sql, ledger, counted), allocated)];
}

interface CountedMonths {
  readonly tenant: Tenant;
  /** The totals of the months after `lastProven`. */
  readonly open: Totals;
  readonly lastProven: Month;
}

const valuesOf = ({ tenant: { organizationId, environment }, lastProven }: CountedMonths) => [organizationId, environment, lastProven];
const ofProven = `${ofTenant} and month <= $3`;

/** Sums of proven months, and open holds without an account. */
const ledgerSums = `
  select coalesce(sum(pool), 0) as pool, coalesce(sum(spent), 0) as spent, coalesce(sum(outside), 0) as outside, coalesce(sum(used), 0) as used,
    (select coalesce(sum(amount), 0) from holds where ${ofTenant} and ended_at is null
       and not exists (select 1 from user_accounts as account where account.organization_id = $1 and account.environment = $2
         and account.user_id = holds.user_id)) as stray
  from proven_months where ${ofProven}`;

async function readLedgerFigures(sql: Sql, ledger: Ledger, counted: CountedMonths): Promise<LedgerFigures> {
  const [proven] = await sql<Record<'pool' | 'spent' | 'outside' | 'used' | 'stray', string>>(ledgerSums, valuesOf(counted));
  const total = (figure: 'pool' | 'spent' | 'outside' | 'used') => Number(proven?.[figure]) + counted.open.ledger[figure];
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
     select user_id, sum(balance) as balance, sum(held) as held from proven_months where ${ofProven} and user_id <> '' group by user_id
   ), opened as (
     select user_id, sum(amount) as amount from holds where ${ofTenant} and ended_at is null group by user_id
   )
   select ${userColumns('account')}, coalesce(opened.amount, 0) as open_holds, coalesce(moved.balance, 0) as proven_balance,
     coalesce(moved.held, 0) as proven_held, coalesce(used.used, 0) as proven_used
   from user_accounts as account left join moved using (user_id) left join opened using (user_id)
   left join proven_months as used on used.organization_id = $1 and used.environment = $2 and used.month = account.month and used.month <= $3
     and used.user_id = account.user_id
   where account.organization_id = $1 and account.environment = $2`;

/** Reads all users page by page with a cursor of the database. */
async function* readUserFigures(sql: Sql, counted: CountedMonths): AsyncGenerator<UserFigures> {
  await sql(`declare user_figures no scroll cursor for ${userFiguresStatement}`, valuesOf(counted));
  for (;;) {
    const rows = await sql<UserFiguresRow>(`fetch ${pageSize} from user_figures`);
    for (const row of rows) yield toUserFigures(row, counted.open);
    if (rows.length < pageSize) break;
  }
  await sql('close user_figures');
}

function toUserFigures(row: UserFiguresRow, open: Totals): UserFigures {
  const account = toUser(row);
  const total = open.users.get(account.userId);
  return {
    account,
    openHolds: Number(row.open_holds),
    balanceByTransfers: Number(row.proven_balance) + (total?.balance ?? 0),
    heldByTransfers: Number(row.proven_held) + (total?.held ?? 0),
    usedByRecords: Number(row.proven_used) + (total?.used ?? 0),
  };
}

export const balanceStatements = { ledgerSums, userFigures: userFiguresStatement };
