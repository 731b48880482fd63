import { createBatcher } from '@agent-service/work';
import { type AnswersDeps, batchOptions } from './deps.ts';
import type { TenantKey } from './keys.ts';
import { dispatchNext, findHeldUpTenants } from './store/dispatch.ts';
import type { ChargedRow } from './store/end.ts';

const maxTenants = 200;
const maxRounds = 3;

/** Dispatches waiting answers as others end. */
export interface Dispatcher {
  /** Called when answers of these tenants have ended. */
  dispatchAfterEnds(ended: readonly Pick<ChargedRow, 'organizationId' | 'environment' | 'waiting' | 'inFlight'>[]): void;
  /** Dispatches what was missed; returns how many tenants it found. */
  dispatchMissed(): Promise<number>;
}

export function createDispatcher(deps: AnswersDeps): Dispatcher {
  const { store, limits, jobs, background, now } = deps;
  const batcher = createBatcher<TenantKey, void>({ run, maxItems: maxTenants, ...batchOptions<TenantKey>(deps) });

  async function run(tenants: TenantKey[]): Promise<undefined[]> {
    await dispatch(distinct(tenants));
    return tenants.map(() => undefined);
  }

  /** A statement that waited for a line does not see the answers that were accepted while it waited: it runs once more for those. */
  async function dispatch(tenants: readonly TenantKey[], round = 1): Promise<void> {
    const rows = await dispatchNext(store.sql, tenants, limits.inFlight, now());
    jobs.add(rows);
    const missed = rows.filter((row) => row.missed > 0);
    if (missed.length > 0 && round < maxRounds) await dispatch(distinct(missed), round + 1);
  }

  return {
    dispatchAfterEnds(ended) {
      const tenants = distinct(ended.filter(({ waiting, inFlight }) => waiting > 0 && inFlight < limits.inFlight));
      if (tenants.length > 0) background.run('dispatching', () => Promise.all(tenants.map((tenant) => batcher.add(tenant))));
    },
    async dispatchMissed() {
      const tenants = await findHeldUpTenants(store.sql, limits.inFlight, maxTenants);
      await Promise.all(tenants.map((tenant) => batcher.add(tenant)));
      return tenants.length;
    },
  };
}

const distinct = (tenants: readonly TenantKey[]): TenantKey[] => [
  ...new Map(tenants.map((tenant) => [`${tenant.organizationId} ${tenant.environment}`, tenant])).values(),
];
