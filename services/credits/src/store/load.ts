import type { Sql } from '@agent-service/store';
import { DEFAULT_SETTINGS, type Ledger, type Tenant, type UserAccount } from '../domain/accounts.ts';
import { type Operation, type Result, touchedBy } from '../domain/operations.ts';
import type { Hold, LedgerState } from '../domain/state.ts';

/** A timestamp column as the milliseconds since 1970 that the domain counts in. */
const milliseconds = (column: string): string => `extract(epoch from ${column}) * 1000 as ${column}`;

export interface LedgerRow {
  unallocated: string;
  allocated: string;
  spent: string;
  issued: string;
  last_purchase: string;
  auto_replenish: boolean;
  replenish_threshold: number;
  replenish_amount: number;
  low_balance_threshold: number | null;
  default_monthly_limit: number;
  updated_at: string;
}

export const ledgerColumns = `unallocated, allocated, spent, issued, last_purchase, auto_replenish, replenish_threshold, replenish_amount,
  low_balance_threshold, default_monthly_limit, ${milliseconds('updated_at')}`;

export const toLedger = (row: LedgerRow): Ledger => ({
  pool: Number(row.unallocated),
  allocated: Number(row.allocated),
  spent: Number(row.spent),
  issued: Number(row.issued),
  lastPurchase: Number(row.last_purchase),
  settings: {
    autoReplenish: row.auto_replenish,
    replenishThreshold: row.replenish_threshold,
    replenishAmount: row.replenish_amount,
    lowBalanceThreshold: row.low_balance_threshold,
    defaultMonthlyLimit: row.default_monthly_limit,
  },
  updatedAt: Number(row.updated_at),
});

export async function findLedger(sql: Sql, { organizationId, environment }: Tenant): Promise<Ledger | undefined> {
  const [row] = await sql<LedgerRow>(`select ${ledgerColumns} from ledgers where organization_id = $1 and environment = $2`, [
    organizationId,
    environment,
  ]);
  return row && toLedger(row);
}

/** Keeps every other writer of the tenant out until the transaction ends; false where it has no ledger. */
export async function lockLedger(sql: Sql, { organizationId, environment }: Tenant): Promise<boolean> {
  const locked = await sql('select 1 from ledgers where organization_id = $1 and environment = $2 for update', [
    organizationId,
    environment,
  ]);
  return locked.length > 0;
}

/** Adds an empty ledger; false where another transaction has added it meanwhile. */
export async function addLedger(sql: Sql, { organizationId, environment }: Tenant, now: number): Promise<boolean> {
  const { autoReplenish, replenishThreshold, replenishAmount, lowBalanceThreshold, defaultMonthlyLimit } = DEFAULT_SETTINGS;
  const added = await sql(
    `insert into ledgers (organization_id, environment, auto_replenish, replenish_threshold, replenish_amount, low_balance_threshold,
       default_monthly_limit, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, to_timestamp($8::float8 / 1000)) on conflict do nothing returning 1`,
    [organizationId, environment, autoReplenish, replenishThreshold, replenishAmount, lowBalanceThreshold, defaultMonthlyLimit, now],
  );
  return added.length > 0;
}

/** What a batch touches, all of it as it was at one stamp of the ledger. */
export interface Loaded {
  readonly state: LedgerState;
  readonly stamp: string;
}

interface LoadedRow extends LedgerRow {
  stamp: string;
  holds: HoldRow[] | null;
  users: UserRow[] | null;
  remembered: OperationRow[] | null;
}

interface HoldRow {
  id: string;
  user_id: string;
  amount: number;
  deadline: number;
  state: Hold['state'];
  charge: number;
  settled_as: number | null;
  refusal: Hold['refusal'];
  created_at: number;
  ended_at: number | null;
}

const toHold = (row: HoldRow): Hold => ({
  id: row.id,
  userId: row.user_id,
  amount: row.amount,
  deadline: row.deadline,
  state: row.state,
  charge: row.charge,
  settledAs: row.settled_as,
  refusal: row.refusal,
  createdAt: row.created_at,
  endedAt: row.ended_at,
});

export interface UserRow {
  user_id: string;
  balance: string | number;
  held: string | number;
  monthly_limit: number;
  carried: number;
  used: string | number;
  rollover: boolean;
  month: number;
  effective_from: string | number;
  updated_at: string | number;
}

export const userColumns = (table: string): string =>
  `${table}.user_id, ${table}.balance, ${table}.held, ${table}.monthly_limit, ${table}.carried, ${table}.used, ${table}.rollover, ${table}.month,
   extract(epoch from ${table}.effective_from) * 1000 as effective_from, extract(epoch from ${table}.updated_at) * 1000 as updated_at`;

export const toUser = (row: UserRow): UserAccount => ({
  userId: row.user_id,
  balance: Number(row.balance),
  held: Number(row.held),
  monthlyLimit: row.monthly_limit,
  carried: row.carried,
  used: Number(row.used),
  rollover: row.rollover,
  month: row.month,
  effectiveFrom: Number(row.effective_from),
  updatedAt: Number(row.updated_at),
});

interface OperationRow {
  id: string;
  fingerprint: number;
  result: Result;
  at: number;
}

// Each look-up has its limit, so that it is one by key: statements are planned while tables are small and run when they are not.
const found = `found as materialized (
    select hold.* from unnest($3::text[]) as wanted (id) cross join lateral (
      select id, user_id, amount, ${milliseconds('deadline')}, state, charge, settled_as, refusal, ${milliseconds('created_at')},
        ${milliseconds('ended_at')}
      from holds where organization_id = $1 and environment = $2 and holds.id = wanted.id limit 1) as hold)`;

const holders = `holders as materialized (
    select account.* from (
      select unnest($4::text[]) as user_id union select user_id from found where state = 'open') as wanted
    cross join lateral (
      select ${userColumns('account')} from user_accounts as account
      where organization_id = $1 and environment = $2 and account.user_id = wanted.user_id limit 1) as account)`;

const remembered = `(select json_agg(operation) from (
      select id, fingerprint, result, ${milliseconds('at')} from operations
      where organization_id = $1 and environment = $2 and id = any($5::text[])) as operation)`;

const statement = (rememberedPart: string) => `
  with ${found}, ${holders}
  select ${ledgerColumns}, stamp, (select json_agg(found) from found) as holds, (select json_agg(holders) from holders) as users,
    ${rememberedPart} as remembered
  from ledgers where organization_id = $1 and environment = $2`;

const loadAll = statement(remembered);
const loadHoldsAndUsers = statement('null');

/** What a batch touches; undefined where the tenant has no ledger. */
export async function loadState(
  sql: Sql,
  { organizationId, environment }: Tenant,
  operations: readonly Operation[],
): Promise<Loaded | undefined> {
  const touched = touchedBy(operations);
  const values = [organizationId, environment, [...touched.holds], [...touched.users]];
  const [row] =
    touched.remembered.size === 0
      ? await sql<LoadedRow>(loadHoldsAndUsers, values)
      : await sql<LoadedRow>(loadAll, [...values, [...touched.remembered]]);
  return row && { state: toState(row), stamp: row.stamp };
}

const toState = (row: LoadedRow): LedgerState => ({
  ledger: toLedger(row),
  users: new Map((row.users ?? []).map((user) => [user.user_id, toUser(user)])),
  holds: new Map((row.holds ?? []).map((hold) => [hold.id, toHold(hold)])),
  remembered: new Map((row.remembered ?? []).map((operation) => [operation.id, operation])),
});

/** The accounts of these users; who has none yet is not in the answer. */
export async function findUsers(sql: Sql, { organizationId, environment }: Tenant, ids: Set<string>): Promise<Map<string, UserAccount>> {
  if (ids.size === 0) return new Map();
  const rows = await sql<UserRow>(
    `select ${userColumns('account')} from user_accounts as account where organization_id = $1 and environment = $2 and user_id = any($3)`,
    [organizationId, environment, [...ids]],
  );
  return new Map(rows.map((row) => [row.user_id, toUser(row)]));
}
