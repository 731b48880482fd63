import { touch } from '../domain/touch.ts';

/** Tenants whose statements cost threads of late. */
export interface Suspects {
  add(tenant: string): void;
  has(tenant: string): boolean;
  /** Its statements are not read for now, since replacing a thread costs processor time that all tenants share. */
  isBarred(tenant: string): boolean;
}

const suspectedMs = 60_000;
const barredMs = 10_000;
const mostLosses = 3;
const mostKnown = 1_000;

export function createSuspects(now: () => number): Suspects {
  const known = new Map<string, { readonly losses: number; readonly at: number }>();

  function recent(tenant: string) {
    const entry = known.get(tenant);
    return entry !== undefined && now() - entry.at < suspectedMs ? entry : undefined;
  }

  return {
    add: (tenant) => touch(known, tenant, { losses: (recent(tenant)?.losses ?? 0) + 1, at: now() }, mostKnown),
    has: (tenant) => recent(tenant) !== undefined,
    isBarred(tenant) {
      const entry = recent(tenant);
      return entry !== undefined && entry.losses >= mostLosses && now() - entry.at < barredMs;
    },
  };
}
