import { runBatch } from './run-batch.ts';
import { createSemaphore, type Semaphore } from './semaphore.ts';
import { createSlowTenants, type SlowTenants } from './slow-tenants.ts';
import { SlowTenantError, type TenantKey, tenantName, toError } from './tenants.ts';

/** Turns single calls into batches. */
export interface Batcher<Item, Result> {
  add(item: Item): Promise<Result>;
  /** How many lanes have something to do. */
  readonly lanes: number;
}

/**
 * The fault behind the failure of a batch. `all`: a service or database that all items need is away. `item`: one of the items may be at
 * fault. `slow`: the same, and its tenant keeps others waiting. `retry`: a second run may succeed; if it does not, the tenant is slow.
 */
export type BatchFailure = 'all' | 'item' | 'slow' | 'retry';

export interface BatcherOptions<Item, Result> {
  /** One outcome for each item, in order; an Error among them rejects that item alone. Items of a rejected run may be run again. */
  run: (items: Item[]) => Promise<(Result | Error)[]>;
  maxItems: number;
  /** How many batches of a lane may be out at once. */
  concurrency?: number;
  /** The fault behind a rejected run. By default all of its items fail. */
  classify?: (cause: unknown) => BatchFailure;
  /** Items that are rejected for the same cause, after all attempts. */
  onFailure?: (items: Item[], cause: unknown) => void;
  /** An item's part of `maxSize`; an item that is larger goes alone. */
  sizeOf?: (item: Item) => number;
  maxSize?: number;
  /** A shard does not wait longer than this for a batch before it sends the next. */
  stuckMs?: number;
  tenants?: TenantLanes<Item>;
}

/** Keeps the tenants of a batcher apart. */
export interface TenantLanes<Item> {
  of: (item: Item) => TenantKey;
  /** Lanes that tenants share by the hash of their organization, or a lane for each tenant. */
  lanes: number | 'each';
  /** Shared by the batchers of a process. */
  slow?: SlowTenants;
  /** Batches in flight at once of the shards or, with `each`, of tenants that are not slow. Stuck batches are not counted. */
  maxInFlight?: number;
}

interface Entry<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (cause: unknown) => void;
}

interface Failure {
  readonly cause: unknown;
  readonly kind: BatchFailure;
}

interface Lane<Item, Result> {
  readonly name: string;
  /** Set where the lane is one tenant's. */
  readonly tenant: string | undefined;
  queue: Entry<Item, Result>[];
  /** Batches under way, including those that wait for a permit. */
  out: number;
  /** Batches under way that have not taken their items yet. */
  starting: number;
}

/** Time for finding the items at fault, after which the rest of a tenant's batch fails with them. */
const isolationLimitMs = 3_000;
const defaultStuckMs = 200;
/** Stuck batches that run beside those that the semaphores allow; each of them may hold a scarce resource such as a connection. */
const maxStuck = 16;
/** Batches in flight of lanes that a tenant has to itself beside the shards; slow tenants have their own limit. */
const maxIsolated = 4;
const defaultMaxInFlight = 64;

/**
 * Natural batching: the first item leaves at once, and items that arrive while it is out make the next batch of its lane. Items wait for no
 * timer, so a lone call costs nothing more; under load the batches grow by themselves. Every item gets exactly one outcome. A batch of
 * several tenants that fails by an item's fault is run again for each of them, and a failing batch of one tenant is halved; a slow tenant
 * runs alone, and a shard that waits too long for a batch goes on without the tenants in it.
 */
export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): Batcher<Item, Result> {
  return new TenantBatcher(options);
}

class TenantBatcher<Item, Result> implements Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>;
  readonly #concurrency: number;
  readonly #tenantOf: (item: Item) => string;
  readonly #slow: SlowTenants;
  /** 0 where every tenant has a lane. */
  readonly #shards: number;
  readonly #lanes = new Map<string, Lane<Item, Result>>();
  readonly #shared: Semaphore;
  readonly #isolated = createSemaphore(maxIsolated);
  /** How many stuck batches each tenant is part of. */
  readonly #stuckTenants = new Map<string, number>();
  #stuckBatches = 0;

  constructor(options: BatcherOptions<Item, Result>) {
    const { tenants } = options;
    this.#options = options;
    this.#concurrency = options.concurrency ?? 1;
    this.#tenantOf = tenants ? (item) => tenantName(tenants.of(item)) : () => '';
    this.#slow = tenants?.slow ?? createSlowTenants({ permits: 1 });
    this.#shards = tenants && tenants.lanes !== 'each' ? tenants.lanes : 0;
    this.#shared = createSemaphore(tenants?.maxInFlight ?? defaultMaxInFlight);
  }

  get lanes(): number {
    return this.#lanes.size;
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const lane = this.#laneOf(item);
      lane.queue.push({ item, resolve, reject });
      // After the messages that have arrived already were read: their items leave together. Alone, an item does not wait for anything.
      if (lane.queue.length === 1) setImmediate(() => this.#pump(lane));
    });
  }

  /** A tenant's own lane where it has one or needs one, else the lane of its shard. */
  #laneOf(item: Item): Lane<Item, Result> {
    const { tenants } = this.#options;
    const tenant = this.#tenantOf(item);
    const own = this.#lanes.get(tenant);
    if (own) return own;
    const needsOwn = tenants === undefined || this.#shards === 0 || this.#slow.has(tenant) || this.#stuckTenants.has(tenant);
    if (needsOwn) return this.#openLane(tenant, tenant);
    const shard = `${shardOf(tenants.of(item), this.#shards)}`;
    return this.#lanes.get(shard) ?? this.#openLane(shard, undefined);
  }

  #openLane(name: string, tenant: string | undefined): Lane<Item, Result> {
    const lane = { name, tenant, queue: [], out: 0, starting: 0 };
    this.#lanes.set(name, lane);
    return lane;
  }

  #isSlow({ tenant }: Lane<Item, Result>): boolean {
    return tenant !== undefined && this.#slow.has(tenant);
  }

  #pump(lane: Lane<Item, Result>): void {
    const isSlow = this.#isSlow(lane);
    const limit = isSlow ? 1 : this.#concurrency;
    while (lane.out < limit && lane.queue.length > lane.starting * this.#options.maxItems) {
      lane.out += 1;
      lane.starting += 1;
      void this.#semaphoreOf(lane, isSlow).run(() => this.#start(lane));
    }
    if (lane.out === 0 && this.#lanes.get(lane.name) === lane) this.#lanes.delete(lane.name);
  }

  #semaphoreOf({ tenant }: Lane<Item, Result>, isSlow: boolean): Semaphore {
    if (isSlow) return this.#slow.semaphore;
    return this.#shards > 0 && tenant !== undefined ? this.#isolated : this.#shared;
  }

  /** Resolves when the batch no longer needs its permit. */
  #start(lane: Lane<Item, Result>): Promise<void> {
    lane.starting -= 1;
    const entries = takeBatch(lane.queue, this.#options);
    if (lane.queue.length > 0) this.#pump(lane);
    if (this.#shards === 0 || this.#isSlow(lane)) return this.#send(lane, entries).finally(() => this.#close(lane));
    return this.#sendWatched(lane, entries);
  }

  /** A batch that is stuck gives up its permit, so that four stuck tenants do not stop a fifth. */
  async #sendWatched(lane: Lane<Item, Result>, entries: Entry<Item, Result>[]): Promise<void> {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    let whenSent = () => this.#close(lane);
    // Repeated, because a batch may become stuck while as many are as may be.
    const timer = setInterval(() => {
      if (this.#stuckBatches >= maxStuck) return;
      clearInterval(timer);
      whenSent = lane.tenant === undefined ? this.#proceedWithout(lane, entries) : this.#countStuck(whenSent);
      release();
    }, this.#options.stuckMs ?? defaultStuckMs);
    const sent = this.#send(lane, entries).finally(() => {
      clearInterval(timer);
      whenSent();
    });
    await Promise.race([sent, released]);
  }

  #countStuck(whenSent: () => void): () => void {
    this.#stuckBatches += 1;
    return () => {
      this.#stuckBatches -= 1;
      whenSent();
    };
  }

  /** The lane sends its next batch, and the stuck one's tenants have lanes of their own until the returned function is called. */
  #proceedWithout(lane: Lane<Item, Result>, entries: readonly Entry<Item, Result>[]): () => void {
    const stuck = this.#stuckTenants;
    const names = new Set(entries.map(({ item }) => this.#tenantOf(item)));
    for (const name of names) stuck.set(name, (stuck.get(name) ?? 0) + 1);
    const waiting = lane.queue;
    lane.queue = [];
    this.#enqueue(waiting);
    this.#close(lane);
    return this.#countStuck(() => {
      for (const name of names) {
        const left = (stuck.get(name) ?? 1) - 1;
        if (left > 0) stuck.set(name, left);
        else stuck.delete(name);
      }
    });
  }

  /** A tenant that ran alone returns to its shard, with its waiting items, unless it is slow or stuck. */
  #close(lane: Lane<Item, Result>): void {
    lane.out -= 1;
    if (this.#shards === 0 || lane.out > 0 || lane.tenant === undefined) {
      this.#pump(lane);
      return;
    }
    // Emptied first: a call that was added a moment ago still pumps this lane.
    const waiting = lane.queue;
    lane.queue = [];
    if (this.#lanes.get(lane.name) === lane) this.#lanes.delete(lane.name);
    this.#enqueue(waiting);
  }

  #enqueue(entries: readonly Entry<Item, Result>[]): void {
    const touched = new Set<Lane<Item, Result>>();
    for (const entry of entries) {
      const lane = this.#laneOf(entry.item);
      lane.queue.push(entry);
      touched.add(lane);
    }
    for (const lane of touched) this.#pump(lane);
  }

  async #send(lane: Lane<Item, Result>, entries: Entry<Item, Result>[]): Promise<void> {
    if (entries.length === 0) return;
    if (lane.tenant !== undefined) return await this.#sendIsolated(entries);
    const failure = await this.#run(entries);
    if (failure?.kind === 'all') this.#rejectAll(entries, failure.cause);
    else if (failure) this.#isolate(entries, failure.kind);
  }

  /** Runs items once. Returns the failure of the run, after which they still wait for their outcomes. */
  async #run(entries: readonly Entry<Item, Result>[]): Promise<Failure | undefined> {
    try {
      const results = await this.#options.run(entries.map(({ item }) => item));
      if (results.length !== entries.length) throw new Error(`a batch of ${entries.length} came back with ${results.length} results`);
      this.#conclude(entries, results);
      return undefined;
    } catch (cause) {
      return { cause, kind: this.#options.classify?.(cause) ?? 'all' };
    }
  }

  /** The batch is over for its shard: items that are not at fault do not wait for the one that is. */
  #isolate(entries: readonly Entry<Item, Result>[], kind: BatchFailure): void {
    const byTenant = Map.groupBy(entries, ({ item }) => this.#tenantOf(item));
    for (const [tenant, ofTenant] of byTenant) {
      if (byTenant.size === 1 && kind === 'slow') this.#slow.add(tenant);
      const lane = this.#lanes.get(tenant) ?? this.#openLane(tenant, tenant);
      lane.queue.push(...ofTenant);
      this.#pump(lane);
    }
  }

  /** Runs a batch of one tenant. Each failing item fails alone; after some seconds the rest of the batch fails with them. */
  async #sendIsolated(entries: readonly Entry<Item, Result>[]): Promise<void> {
    let last: { readonly cause: unknown; readonly endsAt: number } | undefined;
    await runBatch(entries, async (batch) => {
      if (last && performance.now() > last.endsAt) {
        this.#rejectAll(batch, last.cause);
        return 'done';
      }
      const failure = await this.#runTwice(batch);
      if (failure === undefined) return 'done';
      last = { cause: failure.cause, endsAt: last?.endsAt ?? performance.now() + isolationLimitMs };
      if (failure.kind !== 'all' && batch.length > 1) return 'halve';
      this.#rejectAll(batch, failure.cause);
      return 'done';
    });
  }

  /** Runs items of one tenant, and once more if that may succeed. */
  async #runTwice(entries: readonly Entry<Item, Result>[]): Promise<Failure | undefined> {
    const first = await this.#run(entries);
    const failure = first?.kind === 'retry' ? await this.#run(entries) : first;
    const isSlow = failure?.kind === 'slow' || failure?.kind === 'retry';
    const [entry] = entries;
    if (isSlow && entry && this.#options.tenants) this.#slow.add(this.#tenantOf(entry.item));
    return failure;
  }

  #rejectAll(entries: readonly Entry<Item, Result>[], cause: unknown): void {
    this.#options.onFailure?.(
      entries.map(({ item }) => item),
      cause,
    );
    const error = toError(cause);
    for (const { reject } of entries) reject(error);
  }

  #conclude(entries: readonly Entry<Item, Result>[], results: readonly (Result | Error)[]): void {
    const failures: { readonly entry: Entry<Item, Result>; readonly cause: Error }[] = [];
    for (const [index, entry] of entries.entries()) {
      const result = results[index] as Result | Error;
      if (result instanceof Error) failures.push({ entry, cause: result });
      else entry.resolve(result);
    }
    if (failures.length === 0) return;
    const isMixed = new Set(entries.map(({ item }) => this.#tenantOf(item))).size > 1;
    const late: Entry<Item, Result>[] = [];
    for (const [cause, ofCause] of Map.groupBy(failures, (each) => each.cause)) {
      const withCause = ofCause.map(({ entry }) => entry);
      if (cause instanceof SlowTenantError && isMixed) late.push(...withCause);
      else this.#rejectAll(withCause, cause);
    }
    for (const { item } of late) this.#slow.add(this.#tenantOf(item));
    this.#enqueue(late);
  }
}

function takeBatch<Item, Result>(
  queue: Entry<Item, Result>[],
  { maxItems, sizeOf = () => 0, maxSize = Number.POSITIVE_INFINITY }: BatcherOptions<Item, Result>,
): Entry<Item, Result>[] {
  let size = 0;
  const end = queue.findIndex(({ item }, index) => {
    size += sizeOf(item);
    return index >= maxItems || (index > 0 && size > maxSize);
  });
  return queue.splice(0, end === -1 ? queue.length : end);
}

/** FNV-1a of the organization: both environments of one share a shard. */
function shardOf({ organizationId }: TenantKey, count: number): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < organizationId.length; index += 1) hash = Math.imul(hash ^ organizationId.charCodeAt(index), 0x01000193);
  return (hash >>> 0) % count;
}
