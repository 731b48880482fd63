import { ServiceError } from '@agent-service/contracts';
import { createMonthPartitions, type Partitions, type Sql, type Store, writeEvents } from '@agent-service/store';
import { LRUCache } from 'lru-cache';
import { type Ledger, nameOf, OPENING_CREDITS, OPENING_GRANT, type Tenant, type UserAccount } from '../domain/accounts.ts';
import { runBatch } from '../domain/batch.ts';
import type { Operation, Result } from '../domain/operations.ts';
import type { CreditEvent, Hold, Outcome } from '../domain/state.ts';
import { addLedger, findLedger, type Loaded, loadState, lockLedger } from '../store/load.ts';
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
  partitions?: Pick<Partitions, 'ensure'>;
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

export function createLedgers(options: LedgersOptions): Ledgers {
  const { store, partitions = createPartitions(store), now, elapsed = () => performance.now(), events, onEvents } = options;
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
    if (events) await writeEvents(sql, payloadsOf(tenant, outcome.events));
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

/** What subscribers of the event get in its `data`. */
function dataOf(event: CreditEvent, { organizationId }: Tenant): Record<string, unknown> {
  const { balance } = event;
  switch (event.type) {
    case 'credits.low_balance':
      return { organization_id: organizationId, balance, threshold: event.threshold };
    case 'credits.depleted':
      return { organization_id: organizationId, balance, depleted_at: new Date(event.at).toISOString() };
    case 'credits.replenished':
      return { organization_id: organizationId, amount: event.amount, balance, source: event.source };
  }
}

/** The events as subscribers get them. */
const payloadsOf = (tenant: Tenant, events: readonly CreditEvent[]) =>
  events.map((event) => ({ type: event.type, ...tenant, createdAt: new Date(event.at).toISOString(), data: dataOf(event, tenant) }));

const tables = ['usage_records', 'transfers'];

/** A tenant's time never runs backwards, so nothing is recorded in a month that is past. */
function createPartitions(store: Store): Pick<Partitions, 'ensure'> {
  const all = tables.map((table) => createMonthPartitions(store, table, { before: 0, after: 1 }));
  return {
    async ensure(now) {
      for (const partitions of all) await partitions.ensure(now);
    },
  };
}

const mostTenants = 1_000;
/** Users and open holds of all tenants together. */
const mostRows = 50_000;

/**
 * What this process saw of ledgers when it last wrote them. It may be out of date at any time: whoever writes on the ground of it
 * does so under its stamp, and forgets it where that is another by now.
 */
interface KnownLedgers {
  /** What the operations touch, where all of it is known. A hold that nobody has seen here counts as a new one. */
  find(tenant: Tenant, operations: readonly Operation[]): Loaded | undefined;
  /** Takes note of what was saved, and under which stamp, on the ground of what had been loaded or found. */
  saved(tenant: Tenant, before: Loaded, outcome: Outcome, stamp: string): void;
  forget(tenant: Tenant): void;
}

interface Known {
  readonly stamp: string;
  readonly ledger: Readonly<Ledger>;
  readonly users: Map<string, Readonly<UserAccount>>;
  /** Open ones only: an ended hold comes back too seldom. */
  readonly holds: Map<string, Readonly<Hold>>;
}

function createKnownLedgers(): KnownLedgers {
  const all = new LRUCache<string, Known>({
    max: mostTenants,
    maxSize: mostRows,
    sizeCalculation: ({ users, holds }) => 1 + users.size + holds.size,
  });

  return {
    find(tenant, operations) {
      const known = all.get(nameOf(tenant));
      if (!known || !isEnough(known, operations)) return undefined;
      const { stamp, ledger, users, holds } = known;
      return { state: { ledger, users, holds, remembered: none }, stamp };
    },
    saved(tenant, before, outcome, stamp) {
      const name = nameOf(tenant);
      const kept = all.peek(name);
      // Another batch of this process was noted meanwhile, and stamps do not say which was the later one.
      if (kept && kept.stamp !== before.stamp) return void all.delete(name);
      const rows = kept ?? { users: new Map(), holds: new Map() };
      if (rows.users !== before.state.users) note(rows, [...before.state.users.values()], [...before.state.holds.values()]);
      note(rows, outcome.users, outcome.holds);
      all.set(name, { stamp, ledger: outcome.ledger ?? before.state.ledger, users: rows.users, holds: rows.holds });
    },
    forget: (tenant) => void all.delete(nameOf(tenant)),
  };
}

const none: ReadonlyMap<string, never> = new Map<string, never>();

function note({ users, holds }: Pick<Known, 'users' | 'holds'>, someUsers: readonly UserAccount[], someHolds: readonly Hold[]): void {
  for (const user of someUsers) users.set(user.userId, user);
  for (const hold of someHolds) {
    if (hold.state === 'open') holds.set(hold.id, hold);
    else holds.delete(hold.id);
  }
}

const isEnough = (known: Known, operations: readonly Operation[]): boolean => operations.every((operation) => knows(known, operation));

function knows({ users, holds }: Known, operation: Operation): boolean {
  switch (operation.kind) {
    case 'hold':
    case 'turn':
    case 'read':
      return users.has(operation.userId);
    case 'settle':
    case 'release':
      return holds.has(operation.id);
    case 'grant':
    case 'allocate':
    case 'settings':
      return false;
  }
}
