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
  type SumsByMonth,
  storeMonths,
  sumMonth,
  sumMonths,
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
}

export interface Step {
  progress: Progress;
  faults: Discrepancy[];
  /** Why the tenant could not be verified further. */
  failure?: unknown;
}

interface TenantStep extends Step {
  /** The sums of months that are over, and with which the balances come out right. */
  proven?: { months: SumsByMonth; replaced: boolean };
}

/**
 * One step: verifies a month of a tenant, or the tenant's balances after all months. A month that is over is verified once, and its sums are
 * stored when the balances come out right with them; a full verification adds those up again. Where a tenant's step fails, the next step is
 * that of the next tenant. Undefined if nothing is left.
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
  const { proven, ...step } = await inSnapshot(store, (sql) => nextStep(sql, progress, isFull));
  if (proven) await store.transaction(({ sql }) => storeMonths(sql, progress.tenant, proven));
  return step;
}

async function nextStep(sql: Sql, progress: Progress, isFull: boolean): Promise<TenantStep> {
  const { tenant } = progress;
  const ledger = await findLedger(sql, tenant);
  if (ledger === undefined) return { progress: { tenant, month: null }, faults: [] };
  // The time of a tenant never runs backwards: months before the one of its last change are final.
  const end = progress.end ?? monthOf(ledger.updatedAt);
  const [months, proven] = [await ledgerMonths(sql, tenant), await provenMonths(sql, tenant)];
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
  const open = await sumMonths(
    sql,
    tenant,
    months.filter((month) => month > lastProven),
  );
  const otherFaults = await verifyFirstAndLastDays(sql, tenant);
  const faults = [...(await verifyBalances(sql, tenant, open, lastProven)), ...otherFaults];
  const sums = differs ? await sumMonths(sql, tenant, months) : open;
  const rest = differs ? [...(await verifyBalances(sql, tenant, sums, 0)), ...otherFaults] : faults;
  const isRight = rest.length === 0 && !(differs && progress.firstFault !== undefined);
  const end = Math.min(progress.firstFault ?? Number.POSITIVE_INFINITY, progress.end);
  const final = new Map([...sums].filter(([month]) => month < end));
  return { progress: { tenant, month: null }, faults, ...(isRight && { proven: { months: final, replaced: differs } }) };
}
