import { LRUCache } from 'lru-cache';

/** Tenants whose recent statements ended their threads or used much processor time. */
export interface CostlyTenants {
  /** A statement of this tenant ended its thread. */
  recordLoss(tenant: string): void;
  /** Processor time of a statement. */
  recordCost(tenant: string, ms: number): void;
  hasLosses(tenant: string): boolean;
  /** Costly tenants share all threads but one. */
  isCostly(tenant: string): boolean;
  /** Its statements are refused for some seconds: replacing a thread costs processor time that all tenants share. */
  isBlocked(tenant: string): boolean;
}

interface Entry {
  readonly losses: number;
  readonly lostAt: number;
  /** Sum of the time above `usualMs` of each statement, which decreases with time. */
  readonly excessMs: number;
  readonly at: number;
}

const lossMemoryMs = 60_000;
const blockedMs = 10_000;
const maxLosses = 3;
const maxTenants = 1_000;
/** Processor time that nearly all statements stay below. */
const usualMs = 20;
const costlyExcessMs = 100;
const decayPerMs = 0.05;

export function createCostlyTenants(now: () => number): CostlyTenants {
  const known = new LRUCache<string, Entry>({ max: maxTenants });

  function read(tenant: string): Entry {
    const entry = known.peek(tenant);
    if (entry === undefined) return { losses: 0, lostAt: 0, excessMs: 0, at: now() };
    const { losses, lostAt, excessMs, at } = entry;
    const isRecent = now() - lostAt < lossMemoryMs;
    return { losses: isRecent ? losses : 0, lostAt, excessMs: Math.max(0, excessMs - (now() - at) * decayPerMs), at: now() };
  }

  return {
    recordLoss(tenant) {
      const entry = read(tenant);
      known.set(tenant, { ...entry, losses: entry.losses + 1, lostAt: now() });
    },
    recordCost(tenant, ms) {
      if (ms <= usualMs) return;
      const entry = read(tenant);
      known.set(tenant, { ...entry, excessMs: Math.min(lossMemoryMs * decayPerMs, entry.excessMs + ms - usualMs) });
    },
    hasLosses: (tenant) => read(tenant).losses > 0,
    isCostly(tenant) {
      const { losses, excessMs } = read(tenant);
      return losses > 0 || excessMs > costlyExcessMs;
    },
    isBlocked(tenant) {
      const { losses, lostAt } = read(tenant);
      return losses >= maxLosses && now() - lostAt < blockedMs;
    },
  };
}
