import type { Sql, Store } from '@agent-service/store';
import type { Ledger } from '../domain/accounts.ts';
import { runBatch } from '../domain/kernel.ts';
import type { Operation } from '../domain/operations.ts';
import type { Result } from '../domain/results.ts';
import type { Outcome } from '../domain/state.ts';
import { OPENING_CREDITS, OPENING_GRANT, type Tenant } from '../domain/tenant.ts';
import { writeEvents } from '../store/events.ts';
import { addLedger, findLedger, lockLedger } from '../store/ledger-rows.ts';
import { loadState } from '../store/load.ts';
import type { Partitions } from '../store/partitions.ts';
import { saveOutcome } from '../store/save.ts';

export interface Applied {
  result: Result;
  /** As the operation left it. */
  ledger: Ledger;
  /** The operation's id was known, and this is what it was answered the first time. */
  repeated: boolean;
}

/** The ledgers of all tenants. A tenant's comes to be when it is first met. */
export interface Ledgers {
  /** Runs a batch in a transaction of its own; the results are committed when it resolves. */
  commit(tenant: Tenant, operations: readonly Operation[]): Promise<Result[]>;
  /** Runs one operation in the caller's transaction. `prepare` comes first, outside of it. */
  apply(sql: Sql, tenant: Tenant, operation: Operation): Promise<Applied>;
  prepare(): Promise<void>;
  /** The ledger as it stands. */
  find(tenant: Tenant): Promise<Ledger>;
}

export interface LedgersOptions {
  store: Store;
  partitions: Partitions;
  now: () => number;
  /** Whether events are recorded. */
  events: boolean;
  /** Called when some were committed. */
  onEvents?: () => void;
}

export function createLedgers({ store, partitions, now, events, onEvents }: LedgersOptions): Ledgers {
  const prepare = () => partitions.ensure(now());

  async function run(sql: Sql, tenant: Tenant, operations: readonly Operation[]): Promise<{ outcome: Outcome; ledger: Ledger }> {
    const before = (await lockLedger(sql, tenant)) ?? (await open(sql, tenant));
    const state = await loadState(sql, tenant, before, operations);
    const outcome = runBatch(state, now(), operations);
    await saveOutcome(sql, tenant, state, outcome);
    if (events) await writeEvents(sql, tenant, outcome.events);
    return { outcome, ledger: outcome.ledger ?? before };
  }

  /** Opens the tenant's ledger, unless another transaction does so at the same time. */
  async function open(sql: Sql, tenant: Tenant): Promise<Ledger> {
    const added = await addLedger(sql, tenant, now());
    const empty = await lockLedger(sql, tenant);
    if (!empty) throw new Error(`the ledger of ${tenant.organizationId} is gone`);
    const amount = OPENING_CREDITS[tenant.environment];
    if (!added || amount === 0) return empty;
    const state = { ledger: empty, users: new Map(), holds: new Map(), remembered: new Map() };
    const outcome = runBatch(state, now(), [{ kind: 'grant', id: OPENING_GRANT, amount }]);
    await saveOutcome(sql, tenant, state, outcome);
    return outcome.ledger ?? empty;
  }

  return {
    prepare,
    async commit(tenant, operations) {
      await prepare();
      const { outcome } = await store.transaction(({ sql }) => run(sql, tenant, operations));
      if (events && outcome.events.length > 0) onEvents?.();
      return outcome.results;
    },
    async apply(sql, tenant, operation) {
      const { outcome, ledger } = await run(sql, tenant, [operation]);
      return { result: outcome.results[0] as Result, ledger, repeated: outcome.remembered.length === 0 };
    },
    find: async (tenant) => (await findLedger(store.sql, tenant)) ?? (await store.transaction(async ({ sql }) => await open(sql, tenant))),
  };
}
