import type { ProcessContext } from '@agent-service/runtime';
import { createBatcher, type SlowTenants, sleep, tenantName } from '@agent-service/work';
import type { Background } from './background.ts';
import { type AnswerKey, nameOf } from './key.ts';
import { isolation } from './lanes.ts';

/** Work that answers owe to another service: run at once, retried for some seconds, and then left to a sweep. */
export interface RetryQueue<Item extends AnswerKey> {
  /** Work that this process has brought about. */
  add(items: readonly Item[]): void;
  /**
   * Work that a sweep has found; returns how many items were taken. Of a tenant whose work is stuck only a few are, so that
   * it cannot fill the queue: the others are due again later.
   */
  addFound(items: readonly Item[]): number;
  /** Resolves when a sweep may add more. */
  whenRoom(): Promise<void>;
  readonly size: number;
}

export interface RetryQueueOptions<Item> {
  name: string;
  background: Background;
  process: Pick<ProcessContext, 'logger' | 'stopping'>;
  slowTenants: SlowTenants;
  /** Whether each item is done; an Error where it is to be tried alone. */
  run: (items: Item[]) => Promise<(boolean | Error)[]>;
  /** How much found work of tenants that are not stuck may be in the queue. */
  maxFound?: number;
}

interface TenantWork {
  items: number;
  found: number;
  /** When an item was last done, or the first one added, by the monotonic clock. */
  progressAt: number;
}

const maxItems = 200;
/** Together shorter than the time after which a sweep takes it up. */
const pausesMs = [250, 750, 2_000, 4_000];
/** A tenant is stuck when none of its items was done for so long, */
const stuckAfterMs = 1_000;
/** and so long after one failed, unless another was done. */
const stuckForMs = 30_000;
const maxFailing = 10_000;
const maxFoundOfStuck = 10;
const checkEveryMs = 250;

export function createRetryQueue<Item extends AnswerKey>({
  name,
  process,
  background,
  slowTenants,
  run,
  maxFound = 200,
}: RetryQueueOptions<Item>): RetryQueue<Item> {
  const names = new Set<string>();
  const tenants = new Map<string, TenantWork>();
  /** When each tenant's work last failed, oldest first. */
  const failedAt = new Map<string, number>();
  let waiting: (() => void)[] = [];
  const batcher = createBatcher<Item, boolean>({ run, maxItems, onFailure, ...isolation<Item>({ slowTenants }) });

  function onFailure(items: Item[], cause: unknown): void {
    const [first] = items;
    const ids = { answers: items.length, answer_id: first?.id, organization_id: first?.organizationId };
    process.logger.warn({ event: 'owed_work_failed', work: name, ...ids, err: cause });
  }

  function isStuck(tenant: string): boolean {
    const now = performance.now();
    const work = tenants.get(tenant);
    return (
      now - (failedAt.get(tenant) ?? Number.NEGATIVE_INFINITY) < stuckForMs || (work !== undefined && now - work.progressAt > stuckAfterMs)
    );
  }

  function countFound(): { stuck: number; other: number } {
    const counts = { stuck: 0, other: 0 };
    for (const [tenant, { found }] of tenants) counts[isStuck(tenant) ? 'stuck' : 'other'] += found;
    return counts;
  }

  function hasRoom(): boolean {
    const { stuck, other } = countFound();
    return other < maxFound && stuck + other < 2 * maxFound;
  }

  function noteOutcome(tenant: string, isDone: boolean): void {
    const work = tenants.get(tenant);
    failedAt.delete(tenant);
    if (isDone && work) work.progressAt = performance.now();
    if (isDone) return;
    failedAt.set(tenant, performance.now());
    const [oldest] = failedAt.keys();
    if (failedAt.size > maxFailing && oldest !== undefined) failedAt.delete(oldest);
  }

  async function retry(item: Item, isFound: boolean): Promise<void> {
    const tenant = tenantName(item);
    for (const pauseMs of [...pausesMs, 0]) {
      const isDone = await batcher.add(item).catch(() => false);
      noteOutcome(tenant, isDone);
      const isSurplus = isFound && (tenants.get(tenant)?.found ?? 0) > maxFoundOfStuck;
      if (isDone || isSurplus || process.stopping.aborted) return;
      await sleep(pauseMs, process.stopping);
    }
  }

  function start(items: readonly Item[], isFound: boolean): void {
    for (const item of items) {
      names.add(nameOf(item));
      const work = tenants.get(tenantName(item)) ?? { items: 0, found: 0, progressAt: performance.now() };
      work.items += 1;
      work.found += Number(isFound);
      tenants.set(tenantName(item), work);
    }
    const all = () => Promise.all(items.map((item) => retry(item, isFound).finally(() => end(item, isFound))));
    if (items.length > 0) background.run(name, all);
  }

  function end(item: Item, isFound: boolean): void {
    names.delete(nameOf(item));
    const work = tenants.get(tenantName(item)) as TenantWork;
    work.items -= 1;
    work.found -= Number(isFound);
    if (work.items === 0) tenants.delete(tenantName(item));
    const woken = waiting;
    waiting = [];
    for (const wake of woken) wake();
  }

  return {
    add: (items) =>
      start(
        items.filter((item) => !names.has(nameOf(item))),
        false,
      ),
    addFound(items) {
      let { stuck } = countFound();
      let taken = 0;
      for (const [tenant, all] of Map.groupBy(items, tenantName)) {
        const isOfStuck = isStuck(tenant);
        const room = Math.min(maxFoundOfStuck - (tenants.get(tenant)?.found ?? 0), maxFound / 2 - stuck);
        const fresh = all.filter((item) => !names.has(nameOf(item))).slice(0, isOfStuck ? Math.max(0, room) : undefined);
        start(fresh, true);
        stuck += isOfStuck ? fresh.length : 0;
        taken += fresh.length;
      }
      return taken;
    },
    async whenRoom() {
      while (!hasRoom()) {
        const { promise, resolve } = Promise.withResolvers<void>();
        waiting.push(resolve);
        // A tenant may become stuck in the meantime.
        const timer = setTimeout(resolve, checkEveryMs);
        await promise;
        clearTimeout(timer);
      }
    },
    get size() {
      return names.size;
    },
  };
}
