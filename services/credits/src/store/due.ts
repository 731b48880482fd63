import type { Page, Sql } from '@agent-service/store';
import type { Tenant } from '../domain/accounts.ts';
import type { Month } from '../domain/calendar.ts';
import { ENDED_HOLD_KEPT_MS, HOLD_GRACE_MS } from '../domain/holds.ts';

export interface OverdueHoldRow {
  organizationId: string;
  environment: string;
  holdId: string;
  userId: string;
  amount: number;
  deadlineMs: number;
}

const overdueKey = 'deadline, organization_id, environment, id';

/** Open holds of all tenants whose deadline and grace have passed, oldest deadline first. */
export async function listOverdueHolds(sql: Sql, now: number, after: Page['after'] | undefined, limit: number): Promise<OverdueHoldRow[]> {
  const seek = after ? `and (${overdueKey}) > (to_timestamp($3::float8 / 1000), $4, $5, $6)` : '';
  const rows = await sql<Omit<OverdueHoldRow, 'deadlineMs'> & { deadlineMs: string }>(
    `select organization_id as "organizationId", environment, id as "holdId", user_id as "userId", amount,
       extract(epoch from deadline) * 1000 as "deadlineMs"
     from holds where ended_at is null and deadline <= to_timestamp($1::float8 / 1000) ${seek} order by ${overdueKey} limit $2`,
    [now - HOLD_GRACE_MS, limit, ...(after ?? [])],
  );
  return rows.map((row) => ({ ...row, deadlineMs: Number(row.deadlineMs) }));
}

const removedAtOnce = 1_000;

// Rows are removed by their place: a join by key reads the whole table where it was planned while the table was small.

/** Removes a bounded number of holds that ended too long ago to be asked for; answers with how many. */
export async function removeEndedHolds(sql: Sql, now: number): Promise<number> {
  const removed = await sql(
    `delete from holds where ctid = any(array(
       select ctid from holds where ended_at < to_timestamp($1::float8 / 1000) order by ended_at limit $2 for update skip locked))
     returning 1`,
    [now - ENDED_HOLD_KEPT_MS, removedAtOnce],
  );
  return removed.length;
}

/** Forgets allocations and settings, whose ids no request can bring again. Grants are remembered for ever: their ids are people's. */
export async function removeOldOperations(sql: Sql, now: number): Promise<number> {
  const removed = await sql(
    `delete from operations where ctid = any(array(
       select ctid from operations
       where at < to_timestamp($1::float8 / 1000) and result ->> 'kind' is distinct from 'grant' order by at limit $2 for update skip locked))
     returning 1`,
    [now - ENDED_HOLD_KEPT_MS, removedAtOnce],
  );
  return removed.length;
}

export interface UnturnedAccount extends Tenant {
  userId: string;
  month: Month;
}

const unturnedKey = 'month, organization_id, environment, user_id';

/** Accounts that no operation has met since an earlier month, behind the given one. */
export function listUnturned(sql: Sql, month: Month, after: UnturnedAccount | undefined, limit: number): Promise<UnturnedAccount[]> {
  const seek = after ? `and (${unturnedKey}) > ($3, $4, $5, $6)` : '';
  const values = after ? [after.month, after.organizationId, after.environment, after.userId] : [];
  return sql<UnturnedAccount>(
    `select organization_id as "organizationId", environment, user_id as "userId", month
     from user_accounts where month < $1 ${seek} order by ${unturnedKey} limit $2`,
    [month, limit, ...values],
  );
}
