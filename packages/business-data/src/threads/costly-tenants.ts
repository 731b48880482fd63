import { setNewest } from '../newest.ts';

/** Tenants whose recent statements ended threads or occupied them for long. */
export interface CostlyTenants {
  /** A statement of this tenant ended its thread. */
  recordLoss(tenant: string): void;
  /** Processor time of a statement. */
  recordCost(tenant: string, ms: number): void;
  hasLosses(tenant: string): boolean;
  /** Costly tenants share all threads but one. */
  isCostly(tenant: string): boolean;
  /** Its statements are refused for now, since replacing a thread costs processor time that all tenants share. */
  isBarred(tenant: string): boolean;
}

interface Entry {
  readonly losses: number;
  readonly lostAt: number;
  /** Time above `usualMs` of each statement, less what was paid off since. */
  readonly excessMs: number;
  readonly at: number;
}

const rememberedMs = 60_000;
const barredMs = 10_000;
const mostLosses = 3;
const mostKnown = 1_000;
/** Nearly all statements take less. */
const usualMs = 20;
const mostExcessMs = 100;
const paidOffPerMs = 0.05;

export function createCostlyTenants(now: () => number): CostlyTenants {
  const known = new Map<string, Entry>();

  function read(tenant: string): Entry {
    const entry = known.get(tenant);
    if (entry === undefined) return { losses: 0, lostAt: 0, excessMs: 0, at: now() };
    const { losses, lostAt, excessMs, at } = entry;
    const isRecent = now() - lostAt < rememberedMs;
    return { losses: isRecent ? losses : 0, lostAt, excessMs: Math.max(0, excessMs - (now() - at) * paidOffPerMs), at: now() };
  }

  return {
    recordLoss(tenant) {
      const entry = read(tenant);
      setNewest(known, tenant, { ...entry, losses: entry.losses + 1, lostAt: now() }, mostKnown);
    },
    recordCost(tenant, ms) {
      if (ms <= usualMs) return;
      const entry = read(tenant);
      setNewest(known, tenant, { ...entry, excessMs: Math.min(rememberedMs * paidOffPerMs, entry.excessMs + ms - usualMs) }, mostKnown);
    },
    hasLosses: (tenant) => read(tenant).losses > 0,
    isCostly(tenant) {
      const { losses, excessMs } = read(tenant);
      return losses > 0 || excessMs > mostExcessMs;
    },
    isBarred(tenant) {
      const { losses, lostAt } = read(tenant);
      return losses >= mostLosses && now() - lostAt < barredMs;
    },
  };
}
