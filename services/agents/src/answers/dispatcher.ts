import { createBatcher } from '@agent-service/work';
import type { TenantKey } from './key.ts';
import { isolation } from './lanes.ts';
import type { Parts } from './parts.ts';
import { dispatchNext, tenantsHeldUp } from './store/dispatch.ts';
import type { EndedRow } from './store/end-paid.ts';

const tenantsAtOnce = 200;
const mostRounds = 3;

/** Sends on what waits, as answers end. */
export interface Dispatcher {
  /** Answers of these tenants have ended; where others wait for their places, they go. */
  afterEnds(ended: readonly Pick<EndedRow, 'organizationId' | 'environment' | 'waiting' | 'inFlight'>[]): void;
  /** Sends on what should have gone already; answers for how many tenants. */
  closeMissed(): Promise<number>;
}

export function createDispatcher(parts: Parts): Dispatcher {
  const { store, limits, jobs, background, now } = parts;
  const batcher = createBatcher<TenantKey, void>({ run: dispatch, maxItems: tenantsAtOnce, ...isolation<TenantKey>(parts) });

  async function dispatch(tenants: TenantKey[]): Promise<undefined[]> {
    await round(unique(tenants));
    return tenants.map(() => undefined);
  }

  /** A line that had to be waited for may hold more than the statement could see: then once more. */
  async function round(tenants: readonly TenantKey[], rounds = 1): Promise<void> {
    const rows = await dispatchNext(store.sql, tenants, limits.inFlight, now());
    jobs.add(rows);
    const missed = rows.filter((row) => row.missed > 0);
    if (missed.length > 0 && rounds < mostRounds) await round(unique(missed), rounds + 1);
  }

  return {
    afterEnds(ended) {
      const free = ended.filter(({ waiting, inFlight }) => waiting > 0 && inFlight < limits.inFlight);
      const tenants = unique(free);
      if (tenants.length > 0) background.run('dispatching', () => Promise.all(tenants.map((tenant) => batcher.add(tenant))));
    },
    async closeMissed() {
      const tenants = await tenantsHeldUp(store.sql, limits.inFlight, tenantsAtOnce);
      await Promise.all(tenants.map((tenant) => batcher.add(tenant)));
      return tenants.length;
    },
  };
}

const unique = (tenants: readonly TenantKey[]): TenantKey[] => [
  ...new Map(tenants.map((tenant) => [`${tenant.organizationId} ${tenant.environment}`, tenant])).values(),
];
