/** Waiting items by tenant. The tenants take turns, and each tenant's items keep their order. */
interface FairQueue<T> {
  /** Returns false when this tenant has the maximum of items. */
  add(tenant: string, item: T): boolean;
  /** Puts a removed item back before its tenant's other items. */
  putBack(tenant: string, item: T): void;
  remove(tenant: string, item: T): void;
  has(tenant: string, item: T): boolean;
  /** Removes the next item of the first tenant that may run; that tenant then goes to the end of the queue. */
  next(mayRun: (tenant: string) => boolean): T | undefined;
  /** Removes the next item of this tenant, unless items of other tenants wait. */
  nextOfOnly(tenant: string): T | undefined;
  drain(): readonly T[];
}

export function createFairQueue<T>(maxPerTenant: number): FairQueue<T> {
  const tenants = new Map<string, Set<T>>();

  function remove(tenant: string, item: T): void {
    const items = tenants.get(tenant);
    if (items?.delete(item) && items.size === 0) tenants.delete(tenant);
  }

  return {
    add(tenant, item) {
      const items = tenants.get(tenant) ?? new Set<T>();
      if (items.size >= maxPerTenant) return false;
      tenants.set(tenant, items.add(item));
      return true;
    },
    putBack: (tenant, item) => void tenants.set(tenant, new Set([item, ...(tenants.get(tenant) ?? [])])),
    remove,
    has: (tenant, item) => tenants.get(tenant)?.has(item) === true,
    next(mayRun) {
      for (const [tenant, items] of tenants) {
        const [item] = items;
        if (item === undefined || !mayRun(tenant)) continue;
        tenants.delete(tenant);
        tenants.set(tenant, items);
        remove(tenant, item);
        return item;
      }
      return undefined;
    },
    nextOfOnly(tenant) {
      const [item] = tenants.get(tenant) ?? [];
      if (item === undefined || tenants.size > 1) return undefined;
      remove(tenant, item);
      return item;
    },
    drain() {
      const all = [...tenants.values()].flatMap((items) => [...items]);
      tenants.clear();
      return all;
    },
  };
}
