import { createSemaphore, type Semaphore } from './semaphore.ts';

const defaultForMs = 5_000;
const mostTenants = 10_000;

export interface TenantKey {
  readonly organizationId: string;
  readonly environment: string;
}

export const tenantName = ({ organizationId, environment }: TenantKey): string => `${organizationId} ${environment}`;

/** The circuit breaker of a process: the tenants whose work timed out lately, by their names. */
export interface SlowTenants {
  has(name: string): boolean;
  /** From now on, and for some seconds after it was last said, the tenant's batches are its own. */
  add(name: string): void;
  /** The few batches that all slow tenants together may have out. */
  readonly semaphore: Semaphore;
}

export interface SlowTenantsOptions {
  /** Batches of slow tenants that run at once. */
  readonly slots: number;
  readonly forMs?: number;
  readonly clock?: () => number;
}

export function createSlowTenants({ slots, forMs = defaultForMs, clock = () => performance.now() }: SlowTenantsOptions): SlowTenants {
  // In the order of their ends, because all stay for the same time.
  const ends = new Map<string, number>();
  return {
    semaphore: createSemaphore(slots),
    has(name) {
      const end = ends.get(name);
      if (end !== undefined && end <= clock()) ends.delete(name);
      return ends.has(name);
    },
    add(name) {
      ends.delete(name);
      ends.set(name, clock() + forMs);
      for (const [oldest, end] of ends) {
        if (end > clock() && ends.size <= mostTenants) break;
        ends.delete(oldest);
      }
    },
  };
}
