import { ServiceError } from '@agent-service/contracts';
import type { Partitions, Sql, Store } from '@agent-service/store';
import { LRUCache } from 'lru-cache';
import { type Ledger, nameOf, OPENING_CREDITS, OPENING_GRANT, type Tenant } from '../domain/accounts.ts';
import { runBatch } from '../domain/batch.ts';
import type { Operation, Result } from '../domain/operations.ts';
import type { Outcome } from '../domain/state.ts';
import { writeEvents } from '../store/events.ts';
import { addLedger, findLedger, lockLedger } from '../store/ledger-rows.ts';
import { type Loaded, loadState } from '../store/load.ts';
import { saveOutcome } from '../store/save.ts';
import { createKnownLedgers } from './known-ledgers.ts';

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
  partitions: Pick<Partitions, 'ensure'>;
  now: () => number;
  /** Milliseconds of a clock that nobody sets. */
  elapsed?: () => number;
  /** Whether events are recorded. */
  events: boolean;
  /** Called when some were committed. */
  onEvents?: () => void;
}

/** How long a ledger that somebody else writes at the same time is locked before it is read. */
const contendedMs = 1_000;
const mostContended = 10_000;

export function createLedgers({ store, partitions, now, elapsed = () => performance.now(), events, onEvents }: LedgersOptions): Ledgers {
  const prepare = () => partitions.ensure(now());
  const known = createKnownLedgers();
  const contended = new LRUCache<string, true>({ max: mostContended, ttl: contendedMs, ttlResolution: 0, perf: { now: elapsed } });

  /**
   * One statement for what is known here, two for what has to be loaded, and no lock: it is saved only if nobody wrote meanwhile.
   * Undefined where somebody did, where the tenant has no ledger yet, or where more is to be written than that.
   */
  async function tryUnlocked(tenant: Tenant, operations: readonly Operation[]): Promise<Outcome | undefined> {
    const found = known.find(tenant, operations);
    return (found && (await tryKnown(tenant, found, operations))) ?? (await tryLoaded(tenant, operations));
  }

  async function tryLoaded(tenant: Tenant, operations: readonly Operation[]): Promise<Outcome | undefined> {
    const loaded = contended.has(nameOf(tenant)) ? undefined : await loadState(store.sql, tenant, operations);
    return loaded && (await trySave(tenant, loaded, operations));
  }

  /** What is wrong with what is known shows when it is saved, and has nothing to do with the operations. */
  async function tryKnown(tenant: Tenant, found: Loaded, operations: readonly Operation[]): Promise<Outcome | undefined> {
    try {
      return await trySave(tenant, found, operations);
    } catch (cause) {
      known.forget(tenant);
      if (cause instanceof ServiceError) throw cause;
      return undefined;
    }
  }

  async function trySave(tenant: Tenant, loaded: Loaded, operations: readonly Operation[]): Promise<Outcome | undefined> {
    const outcome = runBatch(loaded.state, now(), operations);
    if (events && outcome.events.length > 0) return undefined;
    const stamp = await saveOutcome(store.sql, tenant, loaded, outcome);
    if (stamp === undefined) {
      known.forget(tenant);
      contended.set(nameOf(tenant), true);
      return undefined;
    }
    known.saved(tenant, loaded, outcome, stamp);
    return outcome;
  }

  async function run(sql: Sql, tenant: Tenant, operations: readonly Operation[]): Promise<{ outcome: Outcome; ledger: Ledger }> {
    const loaded = await loadLocked(sql, tenant, operations);
    const outcome = runBatch(loaded.state, now(), operations);
    await save(sql, tenant, loaded, outcome);
    if (events) await writeEvents(sql, tenant, outcome.events);
    return { outcome, ledger: outcome.ledger ?? loaded.state.ledger };
  }

  async function loadLocked(sql: Sql, tenant: Tenant, operations: readonly Operation[]): Promise<Loaded> {
    if (!(await lockLedger(sql, tenant))) await open(sql, tenant);
    return await load(sql, tenant, operations);
  }

  async function load(sql: Sql, tenant: Tenant, operations: readonly Operation[]): Promise<Loaded> {
    const loaded = await loadState(sql, tenant, operations);
    if (!loaded) throw new Error(`the ledger of ${tenant.organizationId} is gone`);
    return loaded;
  }

  async function save(sql: Sql, tenant: Tenant, loaded: Loaded, outcome: Outcome): Promise<void> {
    if ((await saveOutcome(sql, tenant, loaded, outcome)) !== undefined) return;
    throw new Error(`the ledger of ${tenant.organizationId} was written in spite of its lock`);
  }

  /** Opens the tenant's ledger, which is a lock as well, or locks the one that another transaction has opened meanwhile. */
  async function open(sql: Sql, tenant: Tenant): Promise<void> {
    if (!(await addLedger(sql, tenant, now()))) return void (await lockLedger(sql, tenant));
    const amount = OPENING_CREDITS[tenant.environment];
    if (amount === 0) return;
    const grants: Operation[] = [{ kind: 'grant', id: OPENING_GRANT, amount }];
    const loaded = await load(sql, tenant, grants);
    await save(sql, tenant, loaded, runBatch(loaded.state, now(), grants));
  }

  return {
    prepare,
    async commit(tenant, operations) {
      await prepare();
      const outcome =
        (await tryUnlocked(tenant, operations)) ?? (await store.transaction(({ sql }) => run(sql, tenant, operations))).outcome;
      if (events && outcome.events.length > 0) onEvents?.();
      return outcome.results;
    },
    async apply(sql, tenant, operation) {
      const { outcome, ledger } = await run(sql, tenant, [operation]);
      return { result: outcome.results[0] as Result, ledger, repeated: outcome.remembered.length === 0 };
    },
    async find(tenant) {
      const found = await findLedger(store.sql, tenant);
      if (found) return found;
      return await store.transaction(async ({ sql }) => (await loadLocked(sql, tenant, [])).state.ledger);
    },
  };
}
