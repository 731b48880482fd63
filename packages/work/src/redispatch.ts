/**
 * The lease-and-redispatch protocol of work whose truth is a row and whose job in the queue only wakes a worker.
 *
 * - A row is dispatched under a number, and its job carries that number: dispatching again makes another job.
 * - A worker begins a row by a conditional update and holds it by a lease, which it renews. An expired lease redispatches the row.
 * - A row that no worker has begun is due again after a while. The queue is then asked for its job: a lost job is replaced at once, one
 *   that the queue still knows after `doubtfulMs`, because the worker that took it may be dead.
 */
export interface UnbegunWork {
  readonly dispatchedAt: number;
  /** How often it was dispatched. */
  readonly dispatches: number;
}

export type RedispatchReason = 'lost' | 'doubtful';

export interface RedispatchOptions<Row> {
  /** For each row: true where the queue knows its job. */
  readonly isKnown: (rows: readonly Row[]) => Promise<readonly boolean[]>;
  readonly doubtfulMs: number;
  readonly now: () => number;
  /** Dispatches rows again, unless they were begun or dispatched in the meantime. */
  readonly redispatch: (reason: RedispatchReason, rows: readonly Row[]) => Promise<void>;
  /** Rows whose jobs wait in the queue. */
  readonly onWaiting?: (rows: readonly Row[]) => void;
}

/** Dispatches again what no worker has begun because its job is lost or may be. */
export async function redispatchUnbegunWork<Row extends UnbegunWork>(
  rows: readonly Row[],
  { isKnown, doubtfulMs, now, redispatch, onWaiting }: RedispatchOptions<Row>,
): Promise<void> {
  if (rows.length === 0) return;
  const known = await isKnown(rows);
  const waiting = rows.filter((_, index) => known[index]);
  onWaiting?.(waiting);
  // Each dispatch is given as much time as the first.
  const isDoubtful = ({ dispatchedAt, dispatches }: Row) => now() - dispatchedAt >= doubtfulMs * dispatches;
  await redispatch('doubtful', waiting.filter(isDoubtful));
  await redispatch(
    'lost',
    rows.filter((_, index) => !known[index]),
  );
}

/** Longer between two successes than this, and the process was frozen or starved. */
const maxGapMs = 4_000;

/**
 * How long this process has been awake and its database available. After an outage of either, workers first get time to renew their
 * leases: until then none is taken for expired.
 */
export class HealthyFor {
  readonly #clock: () => number;
  #since: number;
  #last: number;

  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
    this.#since = clock();
    this.#last = this.#since;
  }

  success(): void {
    const now = this.#clock();
    if (now - this.#last > maxGapMs) this.#since = now;
    this.#last = now;
  }

  failure(): void {
    this.#since = this.#clock();
    this.#last = this.#since;
  }

  isAtLeast(ms: number): boolean {
    return this.#clock() - this.#since >= ms && this.#clock() - this.#last <= maxGapMs;
  }
}
