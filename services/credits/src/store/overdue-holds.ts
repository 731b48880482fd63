import type { Page, Sql } from '@agent-service/store';
import { HOLD_GRACE_MS } from '../domain/holds.ts';

export interface OverdueHoldRow {
  organizationId: string;
  environment: string;
  holdId: string;
  userId: string;
  amount: number;
  deadlineMs: number;
}

const key = 'deadline, organization_id, environment, id';

/** Open holds of all tenants whose deadline and grace have passed, oldest deadline first. */
export async function listOverdueHolds(sql: Sql, now: number, after: Page['after'] | undefined, limit: number): Promise<OverdueHoldRow[]> {
  const seek = after ? `and (${key}) > (to_timestamp($3::float8 / 1000), $4, $5, $6)` : '';
  const rows = await sql<Omit<OverdueHoldRow, 'deadlineMs'> & { deadlineMs: string }>(
    `select organization_id as "organizationId", environment, id as "holdId", user_id as "userId", amount,
       extract(epoch from deadline) * 1000 as "deadlineMs"
     from holds where ended_at is null and deadline <= to_timestamp($1::float8 / 1000) ${seek} order by ${key} limit $2`,
    [now - HOLD_GRACE_MS, limit, ...(after ?? [])],
  );
  return rows.map((row) => ({ ...row, deadlineMs: Number(row.deadlineMs) }));
}
