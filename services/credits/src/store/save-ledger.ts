import type { Ledger } from '../domain/accounts.ts';
import type { Outcome } from '../domain/state.ts';
import type { Part, PartKind } from './parts.ts';

const guarded = 'where organization_id = $1 and environment = $2 and stamp = $3::uuid returning stamp';

/** Where a batch leaves the ledger as it was and writes something beside it, its stamp tells. */
const untouched: PartKind = {
  name: 'untouched',
  size: 0,
  text: () => `guard as (update ledgers set stamp = gen_random_uuid() ${guarded})`,
};

const touched: PartKind = {
  name: 'touched',
  size: 11,
  text: (slot) => `guard as (
    update ledgers set stamp = gen_random_uuid(), unallocated = ${slot(1)}, allocated = ${slot(2)}, spent = ${slot(3)}, issued = ${slot(4)},
      last_purchase = ${slot(5)}, auto_replenish = ${slot(6)}, replenish_threshold = ${slot(7)}, replenish_amount = ${slot(8)},
      low_balance_threshold = ${slot(9)}, default_monthly_limit = ${slot(10)}, updated_at = to_timestamp(${slot(11)}::float8 / 1000)
    ${guarded})`,
};

/** Lets everything else happen only where the ledger is as it was read. */
export function guardOf(ledger: Ledger | null): Part {
  if (ledger === null) return { kind: untouched, values: [] };
  const { pool, allocated, spent, issued, lastPurchase, settings, updatedAt } = ledger;
  const { autoReplenish, replenishThreshold, replenishAmount, lowBalanceThreshold, defaultMonthlyLimit } = settings;
  return {
    kind: touched,
    values: [
      pool,
      allocated,
      spent,
      issued,
      lastPurchase,
      autoReplenish,
      replenishThreshold,
      replenishAmount,
      lowBalanceThreshold,
      defaultMonthlyLimit,
      updatedAt,
    ],
  };
}

const users: PartKind = {
  name: 'users',
  size: 1,
  text: (slot) => `users as (
    insert into user_accounts (organization_id, environment, user_id, balance, held, monthly_limit, carried, used, rollover, month,
      effective_from, updated_at)
    select $1, $2, "userId", balance, held, "monthlyLimit", carried, used, rollover, month,
      to_timestamp("effectiveFrom" / 1000), to_timestamp("updatedAt" / 1000)
    from guard, jsonb_to_recordset(${slot(1)}::jsonb) as account("userId" text, balance bigint, held bigint, "monthlyLimit" integer,
      carried integer, used bigint, rollover boolean, month integer, "effectiveFrom" float8, "updatedAt" float8)
    on conflict (organization_id, environment, user_id) do update set balance = excluded.balance, held = excluded.held,
      monthly_limit = excluded.monthly_limit, carried = excluded.carried, used = excluded.used, rollover = excluded.rollover,
      month = excluded.month, effective_from = excluded.effective_from, updated_at = excluded.updated_at)`,
};

export const usersOf = (outcome: Outcome): Part => ({ kind: users, values: [JSON.stringify(outcome.users)] });

const transfers: PartKind = {
  name: 'transfers',
  size: 5,
  text: (slot) => `transferred as (
    insert into transfers (organization_id, environment, id, code, user_id, amount, at)
    select $1, $2, id, code, user_id, amount, to_timestamp(${slot(1)}::float8 / 1000)
    from guard, unnest(${slot(2)}::text[], ${slot(3)}::text[], ${slot(4)}::text[], ${slot(5)}::bigint[])
      as transfer(id, code, user_id, amount))`,
};

/** A batch happens at one instant, the ledger's new time, so the transfers carry none of their own. */
export const transfersOf = ({ transfers: all }: Outcome, at: number): Part => ({
  kind: transfers,
  values: [at, all.map(({ id }) => id), all.map(({ code }) => code), all.map(({ userId }) => userId), all.map(({ amount }) => amount)],
});
