import type { Sql, Store } from '@agent-service/store';
import type { Tenant } from '../domain/accounts.ts';
import { type Month, monthOf } from '../domain/calendar.ts';
import type { Discrepancy } from '../domain/equations.ts';
import { findLedger } from '../store/load.ts';
import { verifyBooks } from '../store/verify/books.ts';
import { compareMonth, keepMonth, type MonthSums, provenMonths, sumMonth } from '../store/verify/proven-months.ts';
import { ledgerMonths, verifyMonth } from '../store/verify/rollups.ts';
import { verifySeen } from '../store/verify/seen.ts';

/** A statement reads at most a day of records or transfers, or a tenant's rollups; that may take longer than what callers wait for. */
const statementLimitMs = 25_000;

/** How far a proof has come: the tenant that was proven last, or is being proven up to and with a month. */
export interface Progress {
  tenant: Tenant;
  /** null: the tenant is done. */
  month: Month | null;
}

export interface Step {
  progress: Progress;
  faults: Discrepancy[];
}

interface MonthStep extends Step {
  /** Of a month that is over and was found to be good for the first time. */
  proven?: { month: Month; sums: ReadonlyMap<string, MonthSums> };
}

/**
 * One bounded step: a month of a tenant, or its balances when all months are done. A month that is over is proven once and its sums are
 * kept; a full proof adds up those again as well. Undefined when nothing is left.
 */
export async function verifyStep(
  store: Store,
  organizationId: string,
  progress: Progress | undefined,
  isFull = false,
): Promise<Step | undefined> {
  const step = await inSnapshot(store, (sql) => nextStep(sql, organizationId, progress, isFull));
  if (step?.proven) {
    const { month, sums } = step.proven;
    await store.transaction(({ sql }) => keepMonth(sql, step.progress.tenant, month, sums));
  }
  return step;
}

async function nextStep(sql: Sql, organizationId: string, progress: Progress | undefined, isFull: boolean): Promise<MonthStep | undefined> {
  const isUnderWay = progress !== undefined && progress.month !== null;
  const tenant = isUnderWay ? progress.tenant : await nextTenant(sql, organizationId, progress?.tenant);
  if (tenant === undefined) return undefined;
  const done = isUnderWay ? (progress.month ?? 0) : 0;
  const [months, proven] = [await ledgerMonths(sql, tenant), await provenMonths(sql, tenant)];
  const month = months.find((candidate) => candidate > done && (isFull || !proven.has(candidate)));
  if (month !== undefined) return await proveMonth(sql, tenant, month, { months, proven });
  const open = months.filter((each) => each > Math.max(0, ...proven));
  return { progress: { tenant, month: null }, faults: [...(await verifyBooks(sql, tenant, open)), ...(await verifySeen(sql, tenant))] };
}

async function proveMonth(
  sql: Sql,
  tenant: Tenant,
  month: Month,
  { months, proven }: { months: readonly Month[]; proven: ReadonlySet<Month> },
): Promise<MonthStep> {
  const progress = { tenant, month };
  const faults = await verifyMonth(sql, tenant, month);
  const ledger = await findLedger(sql, tenant);
  // A tenant's time never runs backwards: what is before the month of its last change does not change any more.
  if (ledger === undefined || month >= monthOf(ledger.updatedAt)) return { progress, faults };
  const sums = await sumMonth(sql, tenant, month);
  if (proven.has(month) || month < Math.max(...proven))
    return { progress, faults: [...faults, ...(await compareMonth(sql, tenant, month, sums))] };
  const isNext = months.every((earlier) => earlier >= month || proven.has(earlier));
  return isNext && faults.length === 0 ? { progress, faults, proven: { month, sums } } : { progress, faults };
}

/** Everything that the work reads is of one instant, so that it holds on a running database. */
function inSnapshot<T>(store: Store, work: (sql: Sql) => Promise<T>): Promise<T> {
  return store.transaction(async ({ sql }) => {
    await sql('set transaction isolation level repeatable read, read only');
    await sql(`set local statement_timeout = ${statementLimitMs}`);
    // Everything here joins whole sums. Where statistics are young the planner expects a row of each and would count again for each row.
    await sql('set local enable_nestloop = off');
    return await work(sql);
  });
}

/** The tenant with a ledger that follows the given one, of one organization or, where that is empty, of all. */
async function nextTenant(sql: Sql, organizationId: string, after: Tenant | undefined): Promise<Tenant | undefined> {
  const [row] = await sql<Tenant>(
    `select organization_id as "organizationId", environment from ledgers
     where (organization_id, environment) > ($2, $3) and ($1 = '' or organization_id = $1)
     order by organization_id, environment limit 1`,
    [organizationId, after?.organizationId ?? '', after?.environment ?? ''],
  );
  return row;
}
