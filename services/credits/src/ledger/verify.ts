import type { Sql, Store } from '@agent-service/store';
import type { Discrepancy } from '../domain/equations.ts';
import type { Month } from '../domain/month.ts';
import type { Tenant } from '../domain/tenant.ts';
import { nextTenant } from '../store/tenants.ts';
import { verifyBooks } from '../store/verify/books.ts';
import { usageMonths, verifyMonth } from '../store/verify/rollups.ts';
import { verifySeen } from '../store/verify/seen.ts';

/** A step's statements may take longer than a caller's: it reads everything that a tenant has. */
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

/** One bounded step: a tenant's balances, or one month of its usage. Undefined when nothing is left. */
export async function verifyStep(store: Store, organizationId: string, progress: Progress | undefined): Promise<Step | undefined> {
  return await inSnapshot(store, async (sql) => {
    if (progress !== undefined && progress.month !== null) return await nextMonth(sql, progress.tenant, progress.month);
    const tenant = await nextTenant(sql, organizationId, progress?.tenant);
    if (tenant === undefined) return undefined;
    const faults = [...(await verifyBooks(sql, tenant)), ...(await verifySeen(sql, tenant))];
    return { progress: { tenant, month: 0 }, faults };
  });
}

async function nextMonth(sql: Sql, tenant: Tenant, done: Month): Promise<Step> {
  const month = (await usageMonths(sql, tenant)).find((candidate) => candidate > done);
  if (month === undefined) return { progress: { tenant, month: null }, faults: [] };
  return { progress: { tenant, month }, faults: await verifyMonth(sql, tenant, month) };
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
