import { type Batcher, type BatcherOptions, createBatcher } from './batcher.ts';
import { type TenantKey, tenantName } from './tenants.ts';
import { sleep } from './timing.ts';

export interface RetryQueueOptions<Item> {
  readonly name: string;
  readonly keyOf: (item: Item) => string;
  /** For each item: true where it is done; an Error where it is to be run alone. */
  readonly run: (items: Item[]) => Promise<(boolean | Error)[]>;
  readonly batch: Omit<BatcherOptions<Item, boolean>, 'run' | 'maxItems'>;
  /** Runs work that no call waits for, and that the process finishes before it stops. */
  readonly runInBackground: (name: string, work: () => Promise<unknown>) => void;
  readonly stopping: AbortSignal;
  /** Items that a sweep added, of tenants that are not stuck, that may be in the queue. */
  readonly maxSwept?: number;
}

interface TenantWork {
  items: number;
  /** The items that a sweep added. */
  swept: number;
  /** When an item was last done, or the first one added, by the monotonic clock. */
  progressAt: number;
}

const maxItems = 200;
const pausesMs = [250, 750, 2_000, 4_000];
/** No attempt begins later than this after the item was added, however long those before took: soon after, a sweep of any process takes it up. */
const retryForMs = 8_000;
/** A tenant is stuck when none of its items was done for this long. */
const stuckAfterMs = 1_000;
/** A tenant stays stuck for this long after a failure, unless another of its items is done. */
const stuckForMs = 30_000;
const maxFailing = 10_000;
const maxSweptOfStuck = 10;
const checkEveryMs = 250;
const defaultMaxSwept = 200;

/**
 * Work that rows owe to another service: run at once, retried for some seconds, and then left to a sweep, which finds it by its due time.
 * No tenant whose work is stuck fills the queue for the others.
 */
export class RetryQueue<Item extends TenantKey> {
  readonly #options: RetryQueueOptions<Item>;
  readonly #batcher: Batcher<Item, boolean>;
  readonly #maxSwept: number;
  readonly #keys = new Set<string>();
  readonly #tenants = new Map<string, TenantWork>();
  /** When each tenant's work last failed, oldest first. */
  readonly #failedAt = new Map<string, number>();
  #waiting: (() => void)[] = [];

  constructor(options: RetryQueueOptions<Item>) {
    this.#options = options;
    this.#maxSwept = options.maxSwept ?? defaultMaxSwept;
    this.#batcher = createBatcher<Item, boolean>({ ...options.batch, run: options.run, maxItems });
  }

  get size(): number {
    return this.#keys.size;
  }

  /** Adds work that this process caused. */
  add(items: readonly Item[]): void {
    this.#start(
      items.filter((item) => !this.#keys.has(this.#options.keyOf(item))),
      false,
    );
  }

  /**
   * Adds items of a sweep, and returns how many it added. It adds only a few of a tenant whose work is stuck; the others are due again
   * later.
   */
  addFromSweep(items: readonly Item[]): number {
    let { stuck } = this.#countSwept();
    let added = 0;
    for (const [tenant, all] of Map.groupBy(items, tenantName)) {
      const isStuck = this.#isStuck(tenant);
      const room = Math.min(maxSweptOfStuck - (this.#tenants.get(tenant)?.swept ?? 0), this.#maxSwept / 2 - stuck);
      const fresh = all.filter((item) => !this.#keys.has(this.#options.keyOf(item))).slice(0, isStuck ? Math.max(0, room) : undefined);
      this.#start(fresh, true);
      stuck += isStuck ? fresh.length : 0;
      added += fresh.length;
    }
    return added;
  }

  /** Resolves when a sweep may add more. */
  async whenRoom(): Promise<void> {
    while (!this.#hasRoom()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      // A tenant may become stuck in the meantime, which makes room for others.
      const timer = setTimeout(resolve, checkEveryMs);
      await promise;
      clearTimeout(timer);
    }
  }

  #hasRoom(): boolean {
    const { stuck, other } = this.#countSwept();
    return other < this.#maxSwept && stuck + other < 2 * this.#maxSwept;
  }

  #countSwept(): { stuck: number; other: number } {
    const counts = { stuck: 0, other: 0 };
    for (const [tenant, { swept }] of this.#tenants) counts[this.#isStuck(tenant) ? 'stuck' : 'other'] += swept;
    return counts;
  }

  #isStuck(tenant: string): boolean {
    const now = performance.now();
    const work = this.#tenants.get(tenant);
    const failedAt = this.#failedAt.get(tenant) ?? Number.NEGATIVE_INFINITY;
    return now - failedAt < stuckForMs || (work !== undefined && now - work.progressAt > stuckAfterMs);
  }

  #start(items: readonly Item[], isSwept: boolean): void {
    for (const item of items) {
      this.#keys.add(this.#options.keyOf(item));
      const tenant = tenantName(item);
      const work = this.#tenants.get(tenant) ?? { items: 0, swept: 0, progressAt: performance.now() };
      work.items += 1;
      work.swept += Number(isSwept);
      this.#tenants.set(tenant, work);
    }
    const runAll = () => Promise.all(items.map((item) => this.#retry(item, isSwept).finally(() => this.#end(item, isSwept))));
    if (items.length > 0) this.#options.runInBackground(this.#options.name, runAll);
  }

  async #retry(item: Item, isSwept: boolean): Promise<void> {
    const { stopping } = this.#options;
    const tenant = tenantName(item);
    const endsAt = performance.now() + retryForMs;
    for (const pauseMs of [...pausesMs, 0]) {
      const isDone = await this.#batcher.add(item).catch(() => false);
      this.#noteOutcome(tenant, isDone);
      const isSurplus = isSwept && (this.#tenants.get(tenant)?.swept ?? 0) > maxSweptOfStuck;
      if (isDone || isSurplus || stopping.aborted || performance.now() + pauseMs > endsAt) return;
      await sleep(pauseMs, stopping);
    }
  }

  #noteOutcome(tenant: string, isDone: boolean): void {
    const work = this.#tenants.get(tenant);
    this.#failedAt.delete(tenant);
    if (isDone && work) work.progressAt = performance.now();
    if (isDone) return;
    this.#failedAt.set(tenant, performance.now());
    const [oldest] = this.#failedAt.keys();
    if (this.#failedAt.size > maxFailing && oldest !== undefined) this.#failedAt.delete(oldest);
  }

  #end(item: Item, isSwept: boolean): void {
    this.#keys.delete(this.#options.keyOf(item));
    const tenant = tenantName(item);
    const work = this.#tenants.get(tenant) as TenantWork;
    work.items -= 1;
    work.swept -= Number(isSwept);
    if (work.items === 0) this.#tenants.delete(tenant);
    const woken = this.#waiting;
    this.#waiting = [];
    for (const wake of woken) wake();
  }
}

/** Pages that a sweep takes before it pauses, where it could add nothing of them. */
const maxPages = 20;

/**
 * One step of a sweep that retries due work. It passes over items of tenants whose work is stuck, which are due again later, to those of
 * other tenants. Returns the size of a full page, after which the next step follows at once, else 0.
 */
export async function retryDue<Item extends TenantKey>(
  queue: RetryQueue<Item>,
  page: number,
  take: () => Promise<Item[]>,
): Promise<number> {
  for (let pages = 0; pages < maxPages; pages += 1) {
    await queue.whenRoom();
    const items = await take();
    const added = queue.addFromSweep(items);
    if (items.length < page) return 0;
    if (added > 0) return items.length;
  }
  return 0;
}
