/** Waiting items by tenant: the tenants take turns, and each tenant's items keep their order. */
export interface FairQueue<T> {
  /** False where this tenant has as many as it may. */
  add(tenant: string, item: T): boolean;
  remove(tenant: string, item: T): void;
  /** The next item of the first tenant in line that may have a turn; its tenant then goes to the end of the line. */
  next(mayRun: (tenant: string) => boolean): T | undefined;
  drain(): readonly T[];
  readonly size: number;
}

export function createFairQueue<T>(mostOfTenant: number): FairQueue<T> {
  const line = new Map<string, Set<T>>();
  let size = 0;

  function remove(tenant: string, item: T): void {
    const items = line.get(tenant);
    if (!items?.delete(item)) return;
    size -= 1;
    if (items.size === 0) line.delete(tenant);
  }

  return {
    add(tenant, item) {
      const items = line.get(tenant) ?? new Set<T>();
      if (items.size >= mostOfTenant) return false;
      line.set(tenant, items.add(item));
      size += 1;
      return true;
    },
    remove,
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
    drain() {
      const all = [...line.values()].flatMap((items) => [...items]);
      line.clear();
      size = 0;
      return all;
    },
    get size() {
      return size;
    },
  };
}
