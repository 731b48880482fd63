import { createSemaphore, type Semaphore } from './semaphore.ts';

const defaultForMs = 5_000;
const maxSlowTenants = 10_000;

/** The tenants whose work timed out in the last seconds. Batchers that get the same object share them; a batcher without one has its own. */
export interface SlowTenants {
  has(name: string): boolean;
  /** For the next seconds the tenant's batches contain no other tenant's items. */
  add(name: string): void;
  /** Limits the batches that all slow tenants together have in flight. */
  readonly semaphore: Semaphore;
}

export interface SlowTenantsOptions {
  /** Batches of slow tenants that run at once. */
  readonly permits: number;
  readonly forMs?: number;
  readonly clock?: () => number;
}

export function createSlowTenants({ permits, forMs = defaultForMs, clock = () => performance.now() }: SlowTenantsOptions): SlowTenants {
  // Ordered by end, because every tenant stays for the same time.
  const ends = new Map<string, number>();
  return {
    semaphore: createSemaphore(permits),
    has(name) {
      const end = ends.get(name);
      if (end !== undefined && end <= clock()) ends.delete(name);
      return ends.has(name);
    },
    add(name) {
      ends.delete(name);
      ends.set(name, clock() + forMs);
      for (const [oldest, end] of ends) {
        if (end > clock() && ends.size <= maxSlowTenants) break;
        ends.delete(oldest);
      }
    },
  };
}
