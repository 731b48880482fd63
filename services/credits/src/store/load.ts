import type { Tenant } from '@agent-service/contracts';
import type { Sql } from '@agent-service/store';
import { defaultSettings, type Ledger, type UserAccount } from '../domain/accounts.ts';
import type { Operation, Result } from '../domain/operations.ts';
import type { Hold, LedgerState } from '../domain/state.ts';
import { touchedBy } from '../domain/workspace.ts';

/** The rows that a batch touches, as of one stamp of the ledger. */
export interface LoadedState {
  readonly state: LedgerState;
  readonly stamp: string;
}

/** A timestamp column in milliseconds since 1970. */
const milliseconds = (column: string): string => `extract(epoch from ${column}) * 1000 as ${column}`;

const ledgerColumns = `unallocated, allocated, spent, issued, last_purchase, auto_replenish, replenish_threshold, replenish_amount,
  low_balance_threshold, default_monthly_limit, ${milliseconds('updated_at')}`;

export const userColumns = (table: string): string =>
  `${table}.user_id, ${table}.balance, ${table}.held, ${table}.monthly_limit, ${table}.carried, ${table}.used, ${table}.rollover, ${table}.month,
   extract(epoch from ${table}.effective_from) * 1000 as effective_from, extract(epoch from ${table}.updated_at) * 1000 as updated_at`;

// Each look-up has a limit, so that the planner uses the key: it plans while tables are small and keeps the plan when they have grown.
const holdsPart = `hold_rows as materialized (
    select hold.* from unnest($3::text[]) as item (id) cross join lateral (
      select id, user_id, amount, ${milliseconds('deadline')}, state, charge, settled_as, refusal, ${milliseconds('created_at')},
        ${milliseconds('ended_at')}
      from holds where organization_id = $1 and environment = $2 and holds.id = item.id limit 1) as hold)`;

const usersPart = `user_rows as materialized (
    select account.* from (
      select unnest($4::text[]) as user_id union select user_id from hold_rows where state = 'open') as item
    cross join lateral (
      select ${userColumns('account')} from user_accounts as account
      where organization_id = $1 and environment = $2 and account.user_id = item.user_id limit 1) as account)`;

const operationsPart = `(select json_agg(operation) from (
      select id, fingerprint, result, ${milliseconds('at')} from operations
      where organization_id = $1 and environment = $2 and id = any($5::text[])) as operation)`;

const loadStatement = (remembered: string) => `
  with ${holdsPart}, ${usersPart}
  select ${ledgerColumns}, stamp, (select json_agg(hold_rows) from hold_rows) as holds, (select json_agg(user_rows) from user_rows) as users,
    ${remembered} as remembered
  from ledgers where organization_id = $1 and environment = $2`;

export const loadStatements = {
  loadHolds: loadStatement('null'),
  loadOperations: loadStatement(operationsPart),
  findLedger: `select ${ledgerColumns} from ledgers where organization_id = $1 and environment = $2`,
  findUsers: `select ${userColumns('account')} from user_accounts as account
    where organization_id = $1 and environment = $2 and user_id = any($3)`,
  lockLedger: 'select 1 from ledgers where organization_id = $1 and environment = $2 for update',
  addLedger: `insert into ledgers (organization_id, environment, auto_replenish, replenish_threshold, replenish_amount, low_balance_threshold,
      default_monthly_limit, updated_at)
    values ($1, $2, $3, $4, $5, $6, $7, to_timestamp($8::float8 / 1000)) on conflict do nothing returning 1`,
} as const;

/** The rows that a batch touches; undefined if the tenant has no ledger. */
export async function loadState(
  sql: Sql,
  { organizationId, environment }: Tenant,
  operations: readonly Operation[],
): Promise<LoadedState | undefined> {
  const touched = touchedBy(operations);
  const values = [organizationId, environment, [...touched.holds], [...touched.users]];
  const [row] =
    touched.remembered.size === 0
      ? await sql<StateRow>(loadStatements.loadHolds, values)
      : await sql<StateRow>(loadStatements.loadOperations, [...values, [...touched.remembered]]);
  return row && { state: toState(row), stamp: row.stamp };
}

export async function findLedger(sql: Sql, { organizationId, environment }: Tenant): Promise<Ledger | undefined> {
  const [row] = await sql<LedgerRow>(loadStatements.findLedger, [organizationId, environment]);
  return row && toLedger(row);
}

/** The accounts of these users. A user without an account is left out. */
export async function findUsers(sql: Sql, { organizationId, environment }: Tenant, ids: Set<string>): Promise<Map<string, UserAccount>> {
  if (ids.size === 0) return new Map();
  const rows = await sql<UserRow>(loadStatements.findUsers, [organizationId, environment, [...ids]]);
  return new Map(rows.map((row) => [row.user_id, toUser(row)]));
}

/** Locks the tenant's ledger until the transaction ends; false if there is none. */
export async function lockLedger(sql: Sql, { organizationId, environment }: Tenant): Promise<boolean> {
  return (await sql(loadStatements.lockLedger, [organizationId, environment])).length > 0;
}

/** Inserts an empty ledger; false if another transaction has inserted it. */
export async function addLedger(sql: Sql, { organizationId, environment }: Tenant, now: number): Promise<boolean> {
  const { autoReplenish, replenishThreshold, replenishAmount, lowBalanceThreshold, defaultMonthlyLimit } = defaultSettings;
  const settings = [autoReplenish, replenishThreshold, replenishAmount, lowBalanceThreshold, defaultMonthlyLimit];
  return (await sql(loadStatements.addLedger, [organizationId, environment, ...settings, now])).length > 0;
}

interface LedgerRow {
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

const toLedger = (row: LedgerRow): Ledger => ({
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

/** A bigint is text in a row, and a number in a row within JSON. */
export type UserRow = { user_id: string; rollover: boolean } & Record<'monthly_limit' | 'carried' | 'month', number> &
  Record<'balance' | 'held' | 'used' | 'effective_from' | 'updated_at', string | number>;

export const toUser = (row: UserRow): UserAccount => ({
  userId: row.user_id,
  balance: Number(row.balance),
  onHold: Number(row.held),
  monthlyLimit: row.monthly_limit,
  carried: row.carried,
  used: Number(row.used),
  rollover: row.rollover,
  month: row.month,
  effectiveFrom: Number(row.effective_from),
  updatedAt: Number(row.updated_at),
});

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

interface OperationRow {
  id: string;
  fingerprint: number;
  result: Result;
  at: number;
}

interface StateRow extends LedgerRow {
  stamp: string;
  holds: HoldRow[] | null;
  users: UserRow[] | null;
  remembered: OperationRow[] | null;
}

const toState = (row: StateRow): LedgerState => ({
  ledger: toLedger(row),
  users: new Map((row.users ?? []).map((user) => [user.user_id, toUser(user)])),
  holds: new Map((row.holds ?? []).map((hold) => [hold.id, toHold(hold)])),
  remembered: new Map((row.remembered ?? []).map((operation) => [operation.id, operation])),
});
