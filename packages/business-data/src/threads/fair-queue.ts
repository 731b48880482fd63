/** Waiting items by tenant: the tenants take turns, and each tenant's items keep their order. */
interface FairQueue<T> {
  /** False when this tenant has as many items as it may. */
  add(tenant: string, item: T): boolean;
  /** Puts an item that was taken out back in front of its tenant's other items. */
  putBack(tenant: string, item: T): void;
  remove(tenant: string, item: T): void;
  has(tenant: string, item: T): boolean;
  /** The next item of the first tenant in line that may have a turn; its tenant then goes to the end of the line. */
  next(mayRun: (tenant: string) => boolean): T | undefined;
  /** The next item of this tenant, unless an item of another tenant waits. */
  nextOfOnly(tenant: string): T | undefined;
  drain(): readonly T[];
}

export function createFairQueue<T>(mostOfTenant: number): FairQueue<T> {
  const line = new Map<string, Set<T>>();

  function remove(tenant: string, item: T): void {
    const items = line.get(tenant);
    if (items?.delete(item) && items.size === 0) line.delete(tenant);
  }

  return {
    add(tenant, item) {
      const items = line.get(tenant) ?? new Set<T>();
      if (items.size >= mostOfTenant) return false;
      line.set(tenant, items.add(item));
      return true;
    },
    putBack: (tenant, item) => void line.set(tenant, new Set([item, ...(line.get(tenant) ?? [])])),
    remove,
    has: (tenant, item) => line.get(tenant)?.has(item) === true,
    next(mayRun) {
      for (const [tenant, items] of line) {
        const [item] = items;
        if (item === undefined || !mayRun(tenant)) continue;
        line.delete(tenant);
        line.set(tenant, items);
        remove(tenant, item);
        return item;
      }
      return undefined;
    },
    nextOfOnly(tenant) {
      const [item] = line.get(tenant) ?? [];
      if (item === undefined || line.size > 1) return undefined;
      remove(tenant, item);
      return item;
    },
    drain() {
      const all = [...line.values()].flatMap((items) => [...items]);
      line.clear();
      return all;
    },
  };
}
