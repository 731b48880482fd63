import type { Tenant } from '@agent-service/contracts';
import { classifyDatabaseFailure, type Sql, type Store } from '@agent-service/store';
import { type Month, monthOf } from '../domain/calendar.ts';
import type { Discrepancy } from '../domain/equations.ts';
import { findLedger } from '../store/load.ts';
import { verifyBalances } from '../store/verify/balances.ts';
import { verifyFirstAndLastDays } from '../store/verify/first-and-last-days.ts';
import {
  compareCharges,
  compareMonth,
  provenMonths,
  removeMonths,
  storeMonth,
  sumMonth,
  totalMonths,
} from '../store/verify/proven-months.ts';
import { verifyMonth } from '../store/verify/rollups.ts';
import { daysWithRows, inSnapshot, ledgerMonths, nextTenant } from '../store/verify/steps.ts';

/** The position of a verification: the tenant that it verified last, or the tenant and month up to which it has come. */
export interface Progress {
  tenant: Tenant;
  /** null: the tenant is done. */
  month: Month | null;
  /** The month of the tenant's last change as its first step saw it. Rows of it may have come after they were compared with the rollups. */
  end?: Month | undefined;
  /** The tenant's first month with a fault, if one was found. */
  firstFault?: Month | undefined;
  /** A full verification found other sums than the stored ones of a month. */
  differs?: boolean | undefined;
  /** The balances came out right: the months before `end` are proven. */
  isRight?: boolean | undefined;
}

export interface Step {
  progress: Progress;
  faults: Discrepancy[];
  /** Why the tenant could not be verified further. */
  failure?: unknown;
}

interface TenantStep extends Step {
  /** Changes what is stored about proven months, after the snapshot. */
  change?: (sql: Sql) => Promise<void>;
}

/**
 * One step: verifies a month of a tenant, or the tenant's balances after all months, or stores a month as proven. A month that is over is
 * verified once, and its sums are stored after the balances came out right; a full verification adds those up again. Where a tenant's step
 * fails, the next step is that of the next tenant. Undefined if nothing is left.
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
    return await verifyTenant(store, isInTenant ? progress : { tenant, month: 0 }, isFull);
  } catch (cause) {
    if (!failuresOfTenants.has(classifyDatabaseFailure(cause))) throw cause;
    return { progress: { tenant, month: null }, faults: [], failure: cause };
  }
}

/** Failures that say nothing about other tenants: statements that take too long, and data that no statement can read. */
const failuresOfTenants = new Set(['slow', 'item']);

async function verifyTenant(store: Store, progress: Progress, isFull: boolean): Promise<Step> {
  const { change, ...step } = await inSnapshot(store, (sql) => nextStep(sql, progress, isFull));
  if (change) await store.transaction(({ sql }) => change(sql));
  return step;
}

async function nextStep(sql: Sql, progress: Progress, isFull: boolean): Promise<TenantStep> {
  const { tenant } = progress;
  const ledger = await findLedger(sql, tenant);
  if (ledger === undefined) return { progress: { tenant, month: null }, faults: [] };
  // The time of a tenant never runs backwards: months before the one of its last change are final.
  const end = progress.end ?? monthOf(ledger.updatedAt);
  const [months, proven] = [await ledgerMonths(sql, tenant), await provenMonths(sql, tenant)];
  if (progress.isRight) {
    const unproven = months.filter((candidate) => candidate < end && !proven.has(candidate));
    return await proveMonth(sql, { ...progress, end }, unproven);
  }
  const lastProven = Math.max(0, ...proven);
  const month = months.find((candidate) => candidate > (progress.month ?? 0) && (isFull || !proven.has(candidate)));
  return month === undefined
    ? await verifyAllMonths(sql, { ...progress, end }, months, lastProven)
    : await verifyOneMonth(sql, { ...progress, month, end }, lastProven, isFull);
}

async function verifyOneMonth(sql: Sql, progress: Progress & { month: Month }, lastProven: Month, isFull: boolean): Promise<Step> {
  const { tenant, month } = progress;
  const days = await daysWithRows(sql, tenant, month);
  const faults = await verifyMonth(sql, tenant, month, days);
  const differences: Discrepancy[] = [];
  if (month <= lastProven) {
    const sums = await sumMonth(sql, tenant, days);
    faults.push(...compareCharges(month, sums));
    differences.push(...(await compareMonth(sql, tenant, month, sums)));
  }
  const differs = progress.differs || (isFull && differences.length > 0);
  const isFaulty = faults.length > 0 || (differences.length > 0 && !isFull);
  const firstFault = progress.firstFault ?? (isFaulty ? month : undefined);
  return { progress: { ...progress, firstFault, differs }, faults: [...faults, ...differences] };
}

/**
 * Verifies the balances with the stored sums of proven months. A full verification that found others proves all months again with those, if
 * the balances come out right and nothing else is wrong.
 */
async function verifyAllMonths(
  sql: Sql,
  progress: Progress & { end: Month },
  months: readonly Month[],
  lastProven: Month,
): Promise<TenantStep> {
  const { tenant, differs = false } = progress;
  const openMonths = months.filter((month) => month > lastProven);
  const open = await totalMonths(sql, tenant, openMonths);
  const otherFaults = await verifyFirstAndLastDays(sql, tenant);
  const faults = [...(await verifyBalances(sql, tenant, open, lastProven)), ...otherFaults];
  const rest = differs ? [...(await verifyBalances(sql, tenant, await totalMonths(sql, tenant, months), 0)), ...otherFaults] : faults;
  const isRight = rest.length === 0 && !(differs && progress.firstFault !== undefined);
  const end = Math.min(progress.firstFault ?? Number.POSITIVE_INFINITY, progress.end);
  const hasFinal = (differs ? months : openMonths).some((month) => month < end);
  if (!(isRight && hasFinal)) return { progress: { tenant, month: null }, faults };
  return { progress: { ...progress, end, isRight }, faults, ...(differs && { change: (write) => removeMonths(write, tenant) }) };
}

/** Stores the first of the final months that are not proven. The balances came out right with its rows, which no longer change. */
async function proveMonth(sql: Sql, progress: Progress, [month, next]: readonly Month[]): Promise<TenantStep> {
  const { tenant } = progress;
  const done = { tenant, month: null };
  if (month === undefined) return { progress: done, faults: [] };
  const sums = await sumMonth(sql, tenant, await daysWithRows(sql, tenant, month));
  return { progress: next === undefined ? done : progress, faults: [], change: (write) => storeMonth(write, tenant, month, sums) };
}
