import type { Tenant } from '@agent-service/contracts';
import type { Page, Sql } from '@agent-service/store';
import type { Month } from '../domain/calendar.ts';
import { endedHoldKeptMs, holdGraceMs } from '../domain/holds.ts';

const maxRemoved = 1_000;

const overdueKey = 'deadline, organization_id, environment, id';
/** The inner order is that of the index: while the table is small, PostgreSQL 15 would plan to sort all rows by the whole key. */
const overdueHolds = (seek: string) => `
  select organization_id as "organizationId", environment, id as "holdId", user_id as "userId", amount,
    extract(epoch from deadline) * 1000 as "deadlineMs"
  from (
    select organization_id, environment, id, user_id, amount, deadline from holds
    where ended_at is null and deadline <= to_timestamp($1::float8 / 1000) ${seek} order by deadline fetch first ($2) rows with ties
  ) due order by ${overdueKey} limit $2`;

const monthKey = 'month, organization_id, environment, user_id';
const accountsOfPastMonths = (seek: string) => `
  select organization_id as "organizationId", environment, user_id as "userId", month
  from user_accounts where month < $1 ${seek} order by ${monthKey} limit $2`;

// Rows are deleted by ctid: for a join by key the planner may read the whole table, as it plans while the table is small.
export const dueStatements = {
  overdueHolds: overdueHolds(''),
  nextOverdueHolds: overdueHolds(`and (${overdueKey}) > (to_timestamp($3::float8 / 1000), $4, $5, $6)`),
  accountsOfPastMonths: accountsOfPastMonths(''),
  nextAccountsOfPastMonths: accountsOfPastMonths(`and (${monthKey}) > ($3, $4, $5, $6)`),
  removeEndedHolds: `
    delete from holds where ctid = any(array(
      select ctid from holds where ended_at < to_timestamp($1::float8 / 1000) order by ended_at limit $2 for update skip locked))
    returning 1`,
  removeOldOperations: `
    delete from operations where ctid = any(array(
      select ctid from operations
      where at < to_timestamp($1::float8 / 1000) and result ->> 'kind' is distinct from 'grant' order by at limit $2 for update skip locked))
    returning 1`,
} as const;

interface OverdueHoldRow {
  organizationId: string;
  environment: string;
  holdId: string;
  userId: string;
  amount: number;
  deadlineMs: number;
}

/** Open holds of all tenants whose deadline and grace time have passed, oldest deadline first. */
export async function selectOverdueHolds(
  sql: Sql,
  now: number,
  after: Page['after'] | undefined,
  limit: number,
): Promise<OverdueHoldRow[]> {
  const rows = await sql<Omit<OverdueHoldRow, 'deadlineMs'> & { deadlineMs: string }>(
    after ? dueStatements.nextOverdueHolds : dueStatements.overdueHolds,
    [now - holdGraceMs, limit, ...(after ?? [])],
  );
  return rows.map((row) => ({ ...row, deadlineMs: Number(row.deadlineMs) }));
}

export interface AccountOfPastMonth extends Tenant {
  userId: string;
  month: Month;
}

/** Accounts without an operation since an earlier month, in a fixed order. `after` is the last account of the page before. */
export function selectAccountsOfPastMonths(
  sql: Sql,
  month: Month,
  after: AccountOfPastMonth | undefined,
  limit: number,
): Promise<AccountOfPastMonth[]> {
  if (!after) return sql<AccountOfPastMonth>(dueStatements.accountsOfPastMonths, [month, limit]);
  const key = [after.month, after.organizationId, after.environment, after.userId];
  return sql<AccountOfPastMonth>(dueStatements.nextAccountsOfPastMonths, [month, limit, ...key]);
}

/** Removes a bounded number of old ended holds; returns how many. */
export async function removeEndedHolds(sql: Sql, now: number): Promise<number> {
  return (await sql(dueStatements.removeEndedHolds, [now - endedHoldKeptMs, maxRemoved])).length;
}

/** Removes old allocations and changes of settings, whose ids are never repeated. Grants stay: operators choose their ids. */
export async function removeOldOperations(sql: Sql, now: number): Promise<number> {
  return (await sql(dueStatements.removeOldOperations, [now - endedHoldKeptMs, maxRemoved])).length;
}
