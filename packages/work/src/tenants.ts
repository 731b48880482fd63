export interface TenantKey {
  readonly organizationId: string;
  readonly environment: string;
}

export const tenantName = ({ organizationId, environment }: TenantKey): string => `${organizationId} ${environment}`;

/** The tenant that `tenantName` made a name of. */
export function tenantOfName(name: string): TenantKey {
  const [organizationId = '', environment = ''] = name.split(' ');
  return { organizationId, environment };
}

const defaultSlowMs = 250;
/** A tenant is slow in comparison: where every call is slow, the system is loaded and no tenant is at fault. */
const timesTheFirst = 2;

/** The outcome of an item whose tenant delays the rest of its batch: the batcher runs it again, alone. */
export class SlowTenantError extends Error {
  override name = 'SlowTenantError';
}

export interface ByTenantOptions {
  readonly slowMs?: number;
}

/**
 * Calls once for each tenant of a batch, in parallel; returns an outcome for each item, in order. A failed call fails its tenant's items
 * only. A tenant whose call takes much longer than the first gets a `SlowTenantError`; the calls must be idempotent.
 */
export async function callByTenant<Item extends TenantKey, Result>(
  items: readonly Item[],
  call: (items: readonly Item[]) => Promise<readonly (Result | Error)[]>,
  { slowMs = defaultSlowMs }: ByTenantOptions = {},
): Promise<(Result | Error)[]> {
  const groups = [...Map.groupBy(items, tenantName).values()];
  if (groups.length <= 1) return items.length === 0 ? [] : [...(await call(items))];
  const outcomes = new Map<Item, Result | Error>();
  const startedAt = performance.now();
  const calls = groups.map(async (group) => {
    const results = await call(group).catch((cause: unknown) => group.map(() => toError(cause)));
    for (const [index, item] of group.entries())
      outcomes.set(item, results[index] ?? new Error('the call returned no outcome for an item'));
  });
  await Promise.race(calls);
  const firstMs = performance.now() - startedAt;
  await settleWithin(calls, Math.max(slowMs, timesTheFirst * firstMs) - firstMs);
  return items.map((item) => outcomes.get(item) ?? new SlowTenantError(`${tenantName(item)} took too long`));
}

async function settleWithin(calls: readonly Promise<void>[], limitMs: number): Promise<void> {
  const limit = Promise.withResolvers<void>();
  const timer = setTimeout(limit.resolve, Math.max(0, limitMs));
  await Promise.race([Promise.all(calls), limit.promise]);
  clearTimeout(timer);
}

export const toError = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)));
