/** The largest monthly limit, hold, charge, threshold or replenishment: fits a PostgreSQL integer. */
export const MAX_AMOUNT = 2_000_000_000;

/** The largest single grant; what a tenant was ever issued stays exact in a double beyond a thousand of them. */
export const MAX_GRANT = 1_000_000_000_000;

/** The most a tenant can ever have been issued. No balance exceeds it, so every sum below it is exact. */
export const MAX_ISSUED = Number.MAX_SAFE_INTEGER;

export function isAmount(value: number, least = 0, most = MAX_AMOUNT): boolean {
  return Number.isSafeInteger(value) && value >= least && value <= most;
}

/** How often a batch replenishes a tenant at most, so that no setting can issue credits without end. */
export const REPLENISHMENTS_A_BATCH = 10;
