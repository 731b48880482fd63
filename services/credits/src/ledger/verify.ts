import type { Tenant } from '@agent-service/contracts';
import { classifyDatabaseFailure, type Sql, type Store } from '@agent-service/store';
import { type Month, monthOf } from '../domain/calendar.ts';
import type { Discrepancy } from '../domain/equations.ts';
import { findLedger } from '../store/load.ts';
import { verifyBalances } from '../store/verify/balances.ts';
import { verifyFirstAndLastDays } from '../store/verify/first-and-last-days.ts';
import { compareMonth, type MonthSums, provenMonths, storeMonth, sumMonth } from '../store/verify/proven-months.ts';
import { verifyMonth } from '../store/verify/rollups.ts';
import { daysWithRows, inSnapshot, ledgerMonths, nextTenant } from '../store/verify/steps.ts';

/** The position of a verification: the tenant that it verified last, or the tenant and month up to which it has come. */
export interface Progress {
  tenant: Tenant;
  /** null: the tenant is done. */
  month: Month | null;
}

export interface Step {
  progress: Progress;
  faults: Discrepancy[];
  /** Why the tenant could not be verified further. */
  failure?: unknown;
}

interface MonthStep extends Step {
  /** A month that is over and was verified without a fault for the first time. */
  proven?: { month: Month; sums: ReadonlyMap<string, MonthSums> };
}

/**
 * One bounded step: verifies a month of a tenant, or the tenant's balances after all months. A month that is over is verified once and its
 * sums are stored; a full verification adds those up again. Where a tenant's step fails, the next step is that of the next tenant.
 * Undefined if nothing is left.
 */
export async function verifyStep(
  store: Store,
  organizationId: string,
  progress: Progress | undefined,
  isFull = false,
): Promise<Step | undefined> {
  const isInTenant = progress !== undefined && progress.month !== null;
  const tenant = isInTenant ? progress.tenant : await nextTenant(store.sql, organizationId, progress?.tenant);
  if (tenant === undefined) return undefined;
  try {
    return await verifyTenant(store, tenant, progress?.month ?? 0, isFull);
  } catch (cause) {
    if (!failuresOfTenants.has(classifyDatabaseFailure(cause))) throw cause;
    return { progress: { tenant, month: null }, faults: [], failure: cause };
  }
}

/** Failures that say nothing about other tenants: statements that take too long, and data that no statement can read. */
const failuresOfTenants = new Set(['slow', 'item']);

async function verifyTenant(store: Store, tenant: Tenant, lastMonth: Month, isFull: boolean): Promise<Step> {
  const step = await inSnapshot(store, (sql) => nextStep(sql, tenant, lastMonth, isFull));
  if (step.proven) {
    const { month, sums } = step.proven;
    await store.transaction(({ sql }) => storeMonth(sql, tenant, month, sums));
  }
  return step;
}

async function nextStep(sql: Sql, tenant: Tenant, lastMonth: Month, isFull: boolean): Promise<MonthStep> {
  const [months, proven] = [await ledgerMonths(sql, tenant), await provenMonths(sql, tenant)];
  const month = months.find((candidate) => candidate > lastMonth && (isFull || !proven.has(candidate)));
  if (month !== undefined) return await proveMonth(sql, tenant, month, { months, proven });
  const open = months.filter((each) => each > Math.max(0, ...proven));
  return {
    progress: { tenant, month: null },
    faults: [...(await verifyBalances(sql, tenant, open)), ...(await verifyFirstAndLastDays(sql, tenant))],
  };
}

async function proveMonth(
  sql: Sql,
  tenant: Tenant,
  month: Month,
  { months, proven }: { months: readonly Month[]; proven: ReadonlySet<Month> },
): Promise<MonthStep> {
  const progress = { tenant, month };
  const days = await daysWithRows(sql, tenant, month);
  const faults = await verifyMonth(sql, tenant, month, days);
  const ledger = await findLedger(sql, tenant);
  // The time of a tenant never runs backwards: months before the one of its last change are final.
  if (ledger === undefined || month >= monthOf(ledger.updatedAt)) return { progress, faults };
  const sums = await sumMonth(sql, tenant, days);
  if (proven.has(month) || month < Math.max(...proven))
    return { progress, faults: [...faults, ...(await compareMonth(sql, tenant, month, sums))] };
  const isNext = months.every((earlier) => earlier >= month || proven.has(earlier));
  return isNext && faults.length === 0 ? { progress, faults, proven: { month, sums } } : { progress, faults };
}
