import { ServiceError, type Tenant } from '@agent-service/contracts';
import { classifyDatabaseFailure, createMonthPartitions, type Partitions, type Sql, type Store, writeEvents } from '@agent-service/store';
import { createBatcher, type SlowTenants, tenantName, withTimeout } from '@agent-service/work';
import { LRUCache } from 'lru-cache';
import { type Ledger, openingCredits, openingGrant, type UserAccount } from '../domain/accounts.ts';
import { applyOperations } from '../domain/batch.ts';
import type { Operation, Result } from '../domain/operations.ts';
import type { CreditEvent, Hold, LedgerState, Outcome } from '../domain/state.ts';
import { addLedger, findLedger, type LoadedState, loadState, lockLedger } from '../store/load.ts';
import { saveOutcome, writesNothing } from '../store/save.ts';

/** The result of one operation, in the transaction of the caller. */
interface AppliedOperation {
  result: Result;
  /** The ledger after the operation. */
  ledger: Ledger;
  /** True if the operation's id was decided before: then `result` is the first result. */
  repeated: boolean;
}

/** The ledgers of all tenants. A tenant's ledger is created when the tenant is first met. */
export interface Ledgers {
  /** Runs a batch in a transaction of its own; the results are committed when it resolves. */
  commit(tenant: Tenant, operations: readonly Operation[]): Promise<Result[]>;
  /** Runs one operation in the caller's transaction. Call `prepare` before that transaction begins. */
  apply(sql: Sql, tenant: Tenant, operation: Operation): Promise<AppliedOperation>;
  /** Creates the partitions of the current month, if no sweep has. */
  prepare(): Promise<void>;
  /** Creates those of the next month as well. A lock that it waits for, as of an ANALYZE, must not stop batches, so only a sweep does it. */
  prepareNextMonth(): Promise<void>;
  /** The ledger as it is committed. */
  find(tenant: Tenant): Promise<Ledger>;
}

type LedgerPartitions = Pick<Partitions, 'ensure' | 'ensureCurrent'>;

interface LedgersOptions {
  store: Store;
  partitions?: LedgerPartitions;
  now: () => number;
  /** A monotonic clock, in milliseconds. */
  elapsed?: () => number;
  /** True if events are recorded. */
  events: boolean;
  /** Called after a commit with events. */
  onEvents?: () => void;
}

/** For how long a ledger is locked before it is read, after another process wrote it at the same time. */
const contentionMs = 1_000;
const maxContendedLedgers = 10_000;

export function createLedgers(options: LedgersOptions): Ledgers {
  const { store, partitions = createPartitions(store), now, elapsed = () => performance.now(), events, onEvents } = options;
  const cache = createLedgerCache();
  const contended = new LRUCache<string, true>({ max: maxContendedLedgers, ttl: contentionMs, ttlResolution: 0, perf: { now: elapsed } });
  const prepare = () => partitions.ensureCurrent(now());

  /**
   * Takes one statement if the cache has the rows, else two, and no lock: the outcome is saved only if the ledger still has its stamp.
   * Undefined if another process has written the ledger, if the tenant has none, or if there are events to write as well.
   */
  async function tryUnlocked(tenant: Tenant, operations: readonly Operation[]): Promise<Outcome | undefined> {
    const cached = cache.get(tenant, operations);
    const outcome = cached && (await tryCached(tenant, cached, operations));
    if (outcome !== undefined || contended.has(tenantName(tenant))) return outcome;
    const loaded = await loadState(store.sql, tenant, operations);
    return loaded && (await trySave(tenant, loaded, operations));
  }

  /**
   * A cached state that is out of date may violate a constraint; the batch then starts over from the loaded state. So does a batch that
   * writes nothing, because only a write compares the stamp.
   */
  async function tryCached(tenant: Tenant, cached: LoadedState, operations: readonly Operation[]): Promise<Outcome | undefined> {
    try {
      const outcome = await trySave(tenant, cached, operations);
      return outcome && writesNothing(outcome) ? undefined : outcome;
    } catch (cause) {
      cache.delete(tenant);
      if (classifyDatabaseFailure(cause) !== 'item') throw cause;
      return undefined;
    }
  }

  async function trySave(tenant: Tenant, loaded: LoadedState, operations: readonly Operation[]): Promise<Outcome | undefined> {
    const outcome = applyOperations(loaded.state, now(), operations);
    if (events && outcome.events.length > 0) return undefined;
    const stamp = await saveOutcome(store.sql, tenant, loaded, outcome);
    if (stamp === undefined) {
      cache.delete(tenant);
      contended.set(tenantName(tenant), true);
      return undefined;
    }
    cache.update(tenant, loaded, outcome, stamp);
    return outcome;
  }

  return {
    prepare,
    prepareNextMonth: () => partitions.ensure(now()),
    async commit(tenant, operations) {
      await prepare();
      const outcome =
        (await tryUnlocked(tenant, operations)) ??
        (await store.transaction(({ sql }) => runLocked(options, sql, tenant, operations))).outcome;
      if (events && outcome.events.length > 0) onEvents?.();
      return outcome.results;
    },
    async apply(sql, tenant, operation) {
      const { outcome, ledger } = await runLocked(options, sql, tenant, [operation]);
      return { result: outcome.results[0] as Result, ledger, repeated: outcome.remembered.length === 0 };
    },
    async find(tenant) {
      const ledger = await findLedger(store.sql, tenant);
      return ledger ?? (await store.transaction(({ sql }) => loadLocked(sql, tenant, [], now))).state.ledger;
    },
  };
}

type LockedOptions = Pick<LedgersOptions, 'now' | 'events'>;

async function runLocked({ now, events }: LockedOptions, sql: Sql, tenant: Tenant, operations: readonly Operation[]) {
  const loaded = await loadLocked(sql, tenant, operations, now);
  const outcome = applyOperations(loaded.state, now(), operations);
  await saveLocked(sql, tenant, loaded, outcome);
  if (events) await writeEvents(sql, toEvents(tenant, outcome.events));
  return { outcome, ledger: outcome.ledger ?? loaded.state.ledger };
}

/** Locks the tenant's ledger until the transaction ends, and creates it if there is none. */
async function loadLocked(sql: Sql, tenant: Tenant, operations: readonly Operation[], now: () => number): Promise<LoadedState> {
  if (!(await lockLedger(sql, tenant))) await openLedger(sql, tenant, now);
  return await requireState(sql, tenant, operations);
}

async function requireState(sql: Sql, tenant: Tenant, operations: readonly Operation[]): Promise<LoadedState> {
  const loaded = await loadState(sql, tenant, operations);
  if (!loaded) throw new Error(`the ledger of ${tenant.organizationId} was deleted while it was locked`);
  return loaded;
}

async function saveLocked(sql: Sql, tenant: Tenant, loaded: LoadedState, outcome: Outcome): Promise<void> {
  if ((await saveOutcome(sql, tenant, loaded, outcome)) !== undefined) return;
  throw new Error(`the ledger of ${tenant.organizationId} was written while it was locked`);
}

/** An inserted ledger is locked by its transaction. If another transaction inserts it first, this one waits for that lock. */
async function openLedger(sql: Sql, tenant: Tenant, now: () => number): Promise<void> {
  if (!(await addLedger(sql, tenant, now()))) return void (await lockLedger(sql, tenant));
  const amount = openingCredits[tenant.environment];
  if (amount === 0) return;
  const grants: Operation[] = [{ kind: 'grant', id: openingGrant, amount }];
  const loaded = await requireState(sql, tenant, grants);
  await saveLocked(sql, tenant, loaded, applyOperations(loaded.state, now(), grants));
}

const partitionedTables = ['usage_records', 'transfers'];

/** The time of a tenant never runs backwards, so past months need no partition. */
function createPartitions(store: Store): LedgerPartitions {
  const tables = partitionedTables.map((table) => createMonthPartitions(store, table, { before: 0, after: 1 }));
  return {
    async ensure(now) {
      for (const table of tables) await table.ensure(now);
    },
    async ensureCurrent(now) {
      for (const table of tables) await table.ensureCurrent(now);
    },
  };
}

/** The events as webhooks deliver them. */
const toEvents = (tenant: Tenant, events: readonly CreditEvent[]) =>
  events.map((event) => ({ type: event.type, ...tenant, createdAt: new Date(event.at).toISOString(), data: eventData(event, tenant) }));

function eventData(event: CreditEvent, { organizationId }: Tenant): Record<string, unknown> {
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

const maxCachedTenants = 1_000;
/** Users and open holds of all tenants together. */
const maxCachedRows = 50_000;

/** Ledgers as this process last wrote them. Another process may have written since; the stamp of the ledger shows it when they are saved. */
interface LedgerCache {
  /** The state that the operations touch, if all of it is cached. A hold that is not cached counts as a new one. */
  get(tenant: Tenant, operations: readonly Operation[]): LoadedState | undefined;
  /** Adds the outcome of a batch that was saved under this stamp, and the state that it was computed from. */
  update(tenant: Tenant, before: LoadedState, outcome: Outcome, stamp: string): void;
  delete(tenant: Tenant): void;
}

interface CachedLedger {
  readonly stamp: string;
  readonly ledger: Readonly<Ledger>;
  readonly users: Map<string, Readonly<UserAccount>>;
  /** Open holds only: an ended hold is rarely read again. */
  readonly holds: Map<string, Readonly<Hold>>;
}

const emptyMap: ReadonlyMap<string, never> = new Map<string, never>();

function createLedgerCache(): LedgerCache {
  const ledgers = new LRUCache<string, CachedLedger>({
    max: maxCachedTenants,
    maxSize: maxCachedRows,
    sizeCalculation: ({ users, holds }) => 1 + users.size + holds.size,
  });
  return {
    get(tenant, operations) {
      const cached = ledgers.get(tenantName(tenant));
      if (!cached || !operations.every((operation) => hasRowsOf(cached, operation))) return undefined;
      const { stamp, ledger, users, holds } = cached;
      return { state: { ledger, users, holds, remembered: emptyMap }, stamp };
    },
    update(tenant, before, outcome, stamp) {
      const key = tenantName(tenant);
      const cached = ledgers.peek(key);
      // Another batch of this process has updated the cache since `before` was read, and stamps have no order.
      if (cached && cached.stamp !== before.stamp) return void ledgers.delete(key);
      const rows = cached ?? { users: new Map(), holds: new Map() };
      if (rows.users !== before.state.users) addRows(rows, before.state);
      for (const user of outcome.users) rows.users.set(user.userId, user);
      for (const hold of outcome.holds) setOpenHold(rows, hold);
      ledgers.set(key, { stamp, ledger: outcome.ledger ?? before.state.ledger, users: rows.users, holds: rows.holds });
    },
    delete: (tenant) => void ledgers.delete(tenantName(tenant)),
  };
}

type CachedRows = Pick<CachedLedger, 'users' | 'holds'>;

function addRows(rows: CachedRows, { users, holds }: LedgerState): void {
  for (const [id, user] of users) rows.users.set(id, user);
  for (const hold of holds.values()) setOpenHold(rows, hold);
}

function setOpenHold({ holds }: CachedRows, hold: Readonly<Hold>): void {
  if (hold.state === 'open') holds.set(hold.id, hold);
  else holds.delete(hold.id);
}

function hasRowsOf({ users, holds }: CachedRows, operation: Operation): boolean {
  switch (operation.kind) {
    case 'hold':
    case 'start_month':
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

/** Runs concurrent operations of one tenant in one transaction. */
export interface LedgerQueue {
  /** The committed result. Rejects with `unavailable` if there is none within the limit; a repeat of the operation then gets the result. */
  submit(tenant: Tenant, operation: Operation, limitMs: number): Promise<Result>;
}

export interface LedgerQueueOptions {
  commit: (tenant: Tenant, operations: readonly Operation[]) => Promise<Result[]>;
  /** The limit of operations in one transaction. */
  maxItems: number;
  /** The limit of waiting operations of one tenant; more are refused at once. */
  maxWaiting: number;
  /** Tenants that commit in parallel, not counting those whose commits timed out recently. */
  tenantsAtOnce: number;
  slow: SlowTenants;
  /** Receives operations that failed. Their callers only learn that they are undecided. */
  onFailure: (operations: readonly { readonly tenant: Tenant; readonly operation: Operation }[], cause: unknown) => void;
}

interface Entry {
  tenant: Tenant;
  operation: Operation;
  /** When the caller stops waiting, by the monotonic clock. */
  expiresAt: number;
}

const timeoutError = () => new ServiceError('unavailable', { message: 'The ledger took too long. Try again in a moment.' });
const queueFullError = () =>
  new ServiceError('unavailable', { message: 'Too many operations wait for this ledger. Try again in a moment.' });

export function createLedgerQueue({ commit, maxItems, maxWaiting, tenantsAtOnce, slow, onFailure }: LedgerQueueOptions): LedgerQueue {
  const waiting = new Map<string, number>();
  const batcher = createBatcher<Entry, Result>({
    run,
    maxItems,
    onFailure,
    classify: classifyDatabaseFailure,
    tenants: { of: ({ tenant }) => tenant, lanes: 'each', maxInFlight: tenantsAtOnce, slow },
  });

  async function run(entries: Entry[]): Promise<(Result | Error)[]> {
    // An operation whose caller was told that it failed is not run.
    const unexpired = entries.filter(({ expiresAt }) => expiresAt > performance.now());
    const [first] = unexpired;
    const operations = unexpired.map(({ operation }) => operation);
    const results = first ? await commit(first.tenant, operations) : [];
    const outcomes = new Map(unexpired.map((entry, index) => [entry, results[index]]));
    return entries.map((entry) => outcomes.get(entry) ?? timeoutError());
  }

  async function enqueue(entry: Entry): Promise<Result> {
    const key = tenantName(entry.tenant);
    const count = waiting.get(key) ?? 0;
    if (count >= maxWaiting) throw queueFullError();
    waiting.set(key, count + 1);
    try {
      return await batcher.add(entry);
    } finally {
      const remaining = (waiting.get(key) ?? 1) - 1;
      if (remaining === 0) waiting.delete(key);
      else waiting.set(key, remaining);
    }
  }

  return {
    submit(tenant, operation, limitMs) {
      const entry: Entry = { tenant, operation, expiresAt: performance.now() + limitMs };
      return withTimeout(enqueue(entry), limitMs, () => {
        // Timers and performance.now() differ a little: the operation has expired once its caller was told so.
        entry.expiresAt = Number.NEGATIVE_INFINITY;
        return timeoutError();
      });
    },
  };
}
