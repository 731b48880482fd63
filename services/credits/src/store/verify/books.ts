import type { Sql } from '@agent-service/store';
import { allocatedTo, checkLedger, checkUser, type Discrepancy, type LedgerBooks, type UserBooks } from '../../domain/equations.ts';
import type { Tenant } from '../../domain/tenant.ts';
import { findLedger } from '../ledger-rows.ts';
import { toUser, type UserRow, userColumns } from '../load.ts';
import { net } from './proven-months.ts';

const usersAtOnce = 1_000;
const faultsAtMost = 100;

const startOf = (month: string) => `make_timestamptz((${month}) / 12, (${month}) % 12 + 1, 1, 0, 0, 0, 'UTC')`;

/** The first instant that no proven month has. */
const sinceProven = `(select coalesce(${startOf('max(month) + 1')}, '-infinity') from proven_months where organization_id = $1 and environment = $2)`;
const ofTenant = 'organization_id = $1 and environment = $2';

/**
 * Proves one tenant's balances against its transfers, holds and records; the transaction's snapshot keeps them together. Months that
 * were proven count with their sums.
 */
export async function verifyBooks(sql: Sql, tenant: Tenant): Promise<Discrepancy[]> {
  const books = await ledgerBooks(sql, tenant);
  if (books === undefined) return [];
  const found: Discrepancy[] = [];
  let allocated = 0;
  for await (const user of userBooks(sql, tenant)) {
    allocated += allocatedTo(user.account);
    if (found.length < faultsAtMost) found.push(...checkUser(user));
  }
  return [...found, ...checkLedger(books, allocated)];
}

async function ledgerBooks(sql: Sql, tenant: Tenant): Promise<LedgerBooks | undefined> {
  const ledger = await findLedger(sql, tenant);
  if (ledger === undefined) return undefined;
  const [sums] = await sql<Record<'pool' | 'spent' | 'outside' | 'used' | 'stray', string>>(
    `select pool, spent, outside,
       (select coalesce(sum(credits), 0) from usage_records where ${ofTenant} and at >= ${sinceProven})
         + (select coalesce(sum(used), 0) from proven_months where ${ofTenant}) as used,
       (select coalesce(sum(amount), 0) from holds where organization_id = $1 and environment = $2 and ended_at is null
          and not exists (select 1 from user_accounts as account where account.organization_id = $1 and account.environment = $2
            and account.user_id = holds.user_id)) as stray
     from (select sum(pool) as pool, sum(spent) as spent, sum(outside) as outside from (
       select ${net('pool')} as pool, ${net('spent')} as spent, ${net('outside')} as outside
       from transfers where ${ofTenant} and at >= ${sinceProven}
       union all select coalesce(sum(pool), 0), coalesce(sum(spent), 0), coalesce(sum(outside), 0) from proven_months where ${ofTenant}
     ) as parts) as moved`,
    [tenant.organizationId, tenant.environment],
  );
  return {
    ledger,
    strayHolds: Number(sums?.stray),
    poolByTransfers: Number(sums?.pool),
    spentByTransfers: Number(sums?.spent),
    issuedByTransfers: -Number(sums?.outside),
    spentByRecords: Number(sums?.used),
  };
}

interface UserBooksRow extends UserRow {
  open_holds: string;
  moved_balance: string;
  moved_held: string;
  used_by_records: string;
}

/** One pass over transfers, holds and records for all users. */
const userBooksStatement = `
   with moved as (
     select user_id, sum(balance) as balance, sum(held) as held from (
       select user_id, ${net('user')} as balance, ${net('holds')} as held
       from transfers where ${ofTenant} and user_id is not null and at >= ${sinceProven} group by user_id
       union all select user_id, balance, held from proven_months where ${ofTenant} and user_id <> ''
     ) as parts group by user_id
   ), opened as (
     select user_id, sum(amount) as amount from holds
     where organization_id = $1 and environment = $2 and ended_at is null group by user_id
   ), recorded as (
     select account.user_id, sum(record.credits) as credits
     from user_accounts as account
     join usage_records as record on record.organization_id = $1 and record.environment = $2 and record.user_id = account.user_id
       and record.at >= ${startOf('account.month')} and record.at < ${startOf('account.month + 1')}
     where account.organization_id = $1 and account.environment = $2 group by account.user_id
   )
   select ${userColumns('account')}, coalesce(opened.amount, 0) as open_holds, coalesce(moved.balance, 0) as moved_balance,
     coalesce(moved.held, 0) as moved_held, coalesce(recorded.credits, 0) as used_by_records
   from user_accounts as account left join moved using (user_id) left join opened using (user_id) left join recorded using (user_id)
   where account.organization_id = $1 and account.environment = $2`;

/** The database keeps the sums and hands them over page by page. */
async function* userBooks(sql: Sql, { organizationId, environment }: Tenant): AsyncGenerator<UserBooks> {
  await sql(`declare user_books no scroll cursor for ${userBooksStatement}`, [organizationId, environment]);
  for (;;) {
    const rows = await sql<UserBooksRow>(`fetch ${usersAtOnce} from user_books`);
    yield* rows.map(toUserBooks);
    if (rows.length < usersAtOnce) break;
  }
  await sql('close user_books');
}

const toUserBooks = (row: UserBooksRow): UserBooks => ({
  account: toUser(row),
  openHolds: Number(row.open_holds),
  balanceByTransfers: Number(row.moved_balance),
  heldByTransfers: Number(row.moved_held),
  usedByRecords: Number(row.used_by_records),
});
