import type { Sql } from '@agent-service/store';
import { DEFAULT_SETTINGS, type Ledger, type Tenant } from '../domain/accounts.ts';
import { milliseconds } from './sql-text.ts';

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
