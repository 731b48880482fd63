import { type TenantKey, tenantName } from './slow-tenants.ts';

const defaultSlowMs = 250;
/** A tenant is slow in comparison: where all take their time, the system is loaded and no tenant is at fault. */
const timesTheFirst = 2;

/** The outcome of an item whose tenant keeps the rest of its batch waiting: the batcher runs it again, alone. */
export class SlowTenantError extends Error {
  override name = 'SlowTenantError';
}

export interface ByTenantOptions {
  readonly slowMs?: number;
}

/**
 * Calls once for each tenant of a batch, in parallel; one outcome an item, in order. A call that fails fails its tenant's items
 * only. A tenant whose call is out much longer than another's is left out; the calls must be idempotent.
 */
export async function callByTenant<Item extends TenantKey, Result>(
  items: readonly Item[],
  call: (items: readonly Item[]) => Promise<readonly (Result | Error)[]>,
  { slowMs = defaultSlowMs }: ByTenantOptions = {},
): Promise<(Result | Error)[]> {
  const parts = [...Map.groupBy(items, tenantName).values()];
  if (parts.length <= 1) return items.length === 0 ? [] : [...(await call(items))];
  const outcomes = new Map<Item, Result | Error>();
  const startedAt = performance.now();
  const calls = parts.map(async (part) => {
    const results = await call(part).catch((cause: unknown) => part.map(() => toError(cause)));
    for (const [index, item] of part.entries()) outcomes.set(item, results[index] ?? new Error('an item came back without an outcome'));
  });
  await Promise.race(calls);
  const firstMs = performance.now() - startedAt;
  await allWithin(calls, Math.max(slowMs, timesTheFirst * firstMs) - firstMs);
  return items.map((item) => outcomes.get(item) ?? new SlowTenantError(`${tenantName(item)} took too long`));
}

async function allWithin(calls: readonly Promise<void>[], limitMs: number): Promise<void> {
  const limit = Promise.withResolvers<void>();
  const timer = setTimeout(limit.resolve, limitMs);
  await Promise.race([Promise.all(calls), limit.promise]);
  clearTimeout(timer);
}

export const toError = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)));
