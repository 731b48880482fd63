import { createSemaphore, type Semaphore } from './semaphore.ts';
import { createSlowTenants, SlowTenantError, type SlowTenants, type TenantKey, tenantName, toError } from './tenants.ts';

/** Turns single calls into batches. */
export interface Batcher<Item, Result> {
  add(item: Item): Promise<Result>;
  /** How many lanes have something to do. */
  readonly lanes: number;
}

/**
 * What the failure of a batch says about its items. `all`: what they need is away, none is at fault. `item`: one of them may be.
 * `slow`: the same, and its tenant keeps others waiting. `retry`: a second run may pass, and if not, it is `slow`.
 */
export type FailureKind = 'all' | 'item' | 'slow' | 'retry';

export interface BatcherOptions<Item, Result> {
  /** One outcome for each item, in order; an Error among them rejects that item alone. Where it rejects it may be run again. */
  run: (items: Item[]) => Promise<(Result | Error)[]>;
  maxItems: number;
  /** How many batches of a lane may be out at once. */
  concurrency?: number;
  /** What a rejected run means. By default all of its items fail. */
  judge?: (cause: unknown) => FailureKind;
  /** Items that are rejected for the same cause, after all attempts. */
  onFailure?: (items: Item[], cause: unknown) => void;
  /** An item's part of `maxSize`; an item that is larger goes alone. */
  sizeOf?: (item: Item) => number;
  maxSize?: number;
  /** A batch that is out longer keeps its shard no more. */
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
  /** Batches of all lanes that may be out at once, those of slow tenants aside. */
  most?: number;
}

interface Entry<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (cause: unknown) => void;
}

interface Lane<Item, Result> {
  readonly name: string;
  /** Set where the lane is one tenant's. */
  readonly tenant: string | undefined;
  queue: Entry<Item, Result>[];
  out: number;
  /** Batches among those out that have not taken their items yet. */
  starting: number;
}

/** Time for finding the items at fault, after which the rest of a tenant's batch fails with them. */
const isolationLimitMs = 3_000;
/** A shard does not wait longer than this for a batch before it sends the next. */
const defaultStuckMs = 200;
/** Stuck batches that run beside those that the semaphores allow; each of them uses what its service has few of, as connections. */
const maxStuck = 16;
/** Batches of tenants that run alone because one of them is at fault, at once. */
const suspectsAtOnce = 4;
const defaultMost = 64;

/**
 * Natural batching: the first item leaves at once, whatever comes while it is out makes the next batch of its lane. No timer
 * for the items, so a lone call pays nothing; under load the batches grow by themselves. Every item gets exactly one outcome. A
 * batch of several tenants that fails by an item's fault is run again for each of them, one tenant's by halves; a slow tenant runs
 * alone, and a shard that waits too long for a batch goes on without the tenants in it.
 */
export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): Batcher<Item, Result> {
  const { run, maxItems, concurrency = 1, judge = () => 'all', tenants } = options;
  const slow = tenants?.slow ?? createSlowTenants({ permits: 1 });
  const lanes = new Map<string, Lane<Item, Result>>();
  const shared = createSemaphore(tenants?.most ?? defaultMost);
  const apart = createSemaphore(suspectsAtOnce);
  /** How many stuck batches each tenant is part of. */
  const suspects = new Map<string, number>();
  let stuck = 0;
  const tenantOf = (item: Item) => (tenants ? tenantName(tenants.of(item)) : '');
  const shards = tenants && tenants.lanes !== 'each' ? tenants.lanes : 0;

  /** A tenant's own lane where it has one or needs one, else the lane of its shard. */
  function laneOf(item: Item): Lane<Item, Result> {
    const tenant = tenantOf(item);
    const own = lanes.get(tenant);
    if (own) return own;
    if (tenants === undefined || shards === 0 || slow.has(tenant) || suspects.has(tenant)) return openLane(tenant, tenant);
    const shard = `${shardOf(tenants.of(item), shards)}`;
    return lanes.get(shard) ?? openLane(shard, undefined);
  }

  function openLane(name: string, tenant: string | undefined): Lane<Item, Result> {
    const lane = { name, tenant, queue: [], out: 0, starting: 0 };
    lanes.set(name, lane);
    return lane;
  }

  function pump(lane: Lane<Item, Result>): void {
    const isSlow = lane.tenant !== undefined && slow.has(lane.tenant);
    const limit = isSlow ? 1 : concurrency;
    while (lane.out < limit && lane.queue.length > lane.starting * maxItems) {
      lane.out += 1;
      lane.starting += 1;
      void semaphoreOf(lane, isSlow).run(() => start(lane));
    }
    if (lane.out === 0 && lanes.get(lane.name) === lane) lanes.delete(lane.name);
  }

  function semaphoreOf({ tenant }: Lane<Item, Result>, isSlow: boolean): Semaphore {
    if (isSlow) return slow.semaphore;
    return shards > 0 && tenant !== undefined ? apart : shared;
  }

  /** Resolves when the batch no longer needs its permit. */
  function start(lane: Lane<Item, Result>): Promise<void> {
    lane.starting -= 1;
    const entries = takeBatch(lane.queue, options);
    if (lane.queue.length > 0) pump(lane);
    const isSlow = lane.tenant !== undefined && slow.has(lane.tenant);
    if (shards === 0 || isSlow) return send(lane, entries).finally(() => close(lane));
    return sendWatched(lane, entries);
  }

  /** A batch that is stuck gives up its permit, so that four stuck tenants do not stop a fifth. */
  async function sendWatched(lane: Lane<Item, Result>, entries: Entry<Item, Result>[]): Promise<void> {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    let conclude = () => close(lane);
    // Repeated, because a batch may become stuck while as many are as may be.
    const timer = setInterval(() => {
      if (stuck >= maxStuck) return;
      clearInterval(timer);
      conclude = lane.tenant === undefined ? proceedWithout(lane, entries) : countStuck(conclude);
      release();
    }, options.stuckMs ?? defaultStuckMs);
    const sent = send(lane, entries).finally(() => {
      clearInterval(timer);
      conclude();
    });
    await Promise.race([sent, released]);
  }

  function countStuck(conclude: () => void): () => void {
    stuck += 1;
    return () => {
      stuck -= 1;
      conclude();
    };
  }

  /** The lane sends its next batch, and the stuck one's tenants run apart until the returned function is called. */
  function proceedWithout(lane: Lane<Item, Result>, entries: readonly Entry<Item, Result>[]): () => void {
    const names = new Set(entries.map(({ item }) => tenantOf(item)));
    for (const name of names) suspects.set(name, (suspects.get(name) ?? 0) + 1);
    const waiting = lane.queue;
    lane.queue = [];
    enqueue(waiting);
    close(lane);
    return countStuck(() => {
      for (const name of names) {
        const left = (suspects.get(name) ?? 1) - 1;
        if (left > 0) suspects.set(name, left);
        else suspects.delete(name);
      }
    });
  }

  /** A tenant that had to prove itself alone, and did, goes back to its shard with what waits for it. */
  function close(lane: Lane<Item, Result>): void {
    lane.out -= 1;
    const { tenant } = lane;
    const returns = shards > 0 && tenant !== undefined && lane.out === 0 && !slow.has(tenant) && !suspects.has(tenant);
    if (!returns) {
      pump(lane);
      return;
    }
    // Emptied first: a call that was added a moment ago still pumps this lane.
    const waiting = lane.queue;
    lane.queue = [];
    if (lanes.get(lane.name) === lane) lanes.delete(lane.name);
    enqueue(waiting);
  }

  function enqueue(entries: readonly Entry<Item, Result>[]): void {
    const touched = new Set<Lane<Item, Result>>();
    for (const entry of entries) {
      const lane = laneOf(entry.item);
      lane.queue.push(entry);
      touched.add(lane);
    }
    for (const lane of touched) pump(lane);
  }

  async function attempt(entries: readonly Entry<Item, Result>[]): Promise<(Result | Error)[]> {
    const results = await run(entries.map(({ item }) => item));
    if (results.length === entries.length) return results;
    throw new Error(`a batch of ${entries.length} came back with ${results.length} results`);
  }

  async function send(lane: Lane<Item, Result>, entries: Entry<Item, Result>[]): Promise<void> {
    if (entries.length === 0) return;
    try {
      conclude(entries, await attempt(entries));
    } catch (cause) {
      const kind = judge(cause);
      if (kind === 'all') rejectAll(entries, cause);
      else if (lane.tenant === undefined) runApart(entries, kind);
      else await isolate(entries, cause, kind, performance.now() + isolationLimitMs);
    }
  }

  /** The batch is over for its shard: those that are not at fault wait for no other. */
  function runApart(entries: readonly Entry<Item, Result>[], kind: FailureKind): void {
    const parts = Map.groupBy(entries, ({ item }) => tenantOf(item));
    for (const [tenant, part] of parts) {
      if (parts.size === 1 && kind === 'slow') slow.add(tenant);
      const lane = lanes.get(tenant) ?? openLane(tenant, tenant);
      lane.queue.push(...part);
      pump(lane);
    }
  }

  /** Finds the items of one tenant that fail, by halves; each of them fails alone. */
  async function isolate(entries: Entry<Item, Result>[], cause: unknown, kind: FailureKind, end: number): Promise<void> {
    if (kind === 'slow' && tenants) slow.add(tenantOf((entries[0] as Entry<Item, Result>).item));
    const middle = Math.ceil(entries.length / 2);
    const halves = kind === 'retry' ? [entries] : [entries.slice(0, middle), entries.slice(middle)];
    if (kind !== 'retry' && entries.length === 1) return rejectAll(entries, cause);
    for (const half of halves) {
      if (performance.now() > end) rejectAll(half, cause);
      else await runHalf(half, kind === 'retry', end);
    }
  }

  async function runHalf(half: Entry<Item, Result>[], isRetry: boolean, end: number): Promise<void> {
    try {
      conclude(half, await attempt(half));
    } catch (cause) {
      const kind = judge(cause);
      if (kind === 'all') rejectAll(half, cause);
      else await isolate(half, cause, isRetry && kind === 'retry' ? 'slow' : kind, end);
    }
  }

  function rejectAll(entries: readonly Entry<Item, Result>[], cause: unknown): void {
    options.onFailure?.(
      entries.map(({ item }) => item),
      cause,
    );
    const error = toError(cause);
    for (const { reject } of entries) reject(error);
  }

  function conclude(entries: readonly Entry<Item, Result>[], results: readonly (Result | Error)[]): void {
    const failed: { readonly entry: Entry<Item, Result>; readonly cause: Error }[] = [];
    for (const [index, entry] of entries.entries()) {
      const result = results[index] as Result | Error;
      if (result instanceof Error) failed.push({ entry, cause: result });
      else entry.resolve(result);
    }
    if (failed.length === 0) return;
    const isMixed = new Set(entries.map(({ item }) => tenantOf(item))).size > 1;
    const late: Entry<Item, Result>[] = [];
    for (const [cause, part] of Map.groupBy(failed, (each) => each.cause)) {
      const withCause = part.map(({ entry }) => entry);
      if (cause instanceof SlowTenantError && isMixed) late.push(...withCause);
      else rejectAll(withCause, cause);
    }
    for (const { item } of late) slow.add(tenantOf(item));
    enqueue(late);
  }

  return {
    get lanes() {
      return lanes.size;
    },
    add: (item) =>
      new Promise((resolve, reject) => {
        const lane = laneOf(item);
        lane.queue.push({ item, resolve, reject });
        // A microtask later, so that calls of the same turn leave together.
        if (lane.queue.length === 1) queueMicrotask(() => pump(lane));
      }),
  };
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
