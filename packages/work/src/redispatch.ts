/**
 * The redispatch protocol of work whose truth is a row and whose job in the queue only wakes a worker.
 *
 * - A row is dispatched under a number, and its job carries that number: dispatching again makes another job.
 * - A worker begins a row by a conditional update. A row that is begun is held by a lease, which the worker renews, or by its job, which
 *   the queue keeps as long as the worker renews the job's lock. A row without either is dispatched again.
 * - A row that may be without a worker is due again after a while. The queue is then asked for its job: a lost job is replaced at once, a job
 *   that the queue still knows only if it is doubtful, because the worker that took it may be dead.
 */
export type RedispatchReason = 'lost' | 'doubtful';

export interface RedispatchOptions<Row> {
  /** For each row: true where the queue knows its job. */
  readonly isKnown: (rows: readonly Row[]) => Promise<readonly boolean[]>;
  /** Those of the rows with known jobs whose jobs are replaced. If absent, none is: the queue itself finds the jobs of dead workers. */
  readonly findDoubtful?: (known: readonly Row[]) => Promise<readonly Row[]>;
  /** Dispatches rows again, unless they were begun, ended or dispatched in the meantime. Called only with rows. */
  readonly redispatch: (reason: RedispatchReason, rows: readonly Row[]) => Promise<void>;
  /** Rows whose jobs are in the queue. */
  readonly onKnown?: (rows: readonly Row[]) => void;
}

/** Dispatches rows again whose jobs are lost or may be. */
export async function redispatchUnbegunWork<Row>(
  rows: readonly Row[],
  { isKnown, findDoubtful = async () => [], redispatch, onKnown }: RedispatchOptions<Row>,
): Promise<void> {
  if (rows.length === 0) return;
  const known = await isKnown(rows);
  const knownRows = rows.filter((_, index) => known[index]);
  onKnown?.(knownRows);
  const doubtful = await findDoubtful(knownRows);
  if (doubtful.length > 0) await redispatch('doubtful', doubtful);
  const lost = rows.filter((_, index) => !known[index]);
  if (lost.length > 0) await redispatch('lost', lost);
}

/** After a longer gap between two successes the process was frozen or starved. */
const maxGapMs = 4_000;

/**
 * How long this process has been awake and its database available. After an outage of either, workers first get time to renew their
 * leases: until then no lease counts as expired.
 */
export class HealthTracker {
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

  isHealthyFor(ms: number): boolean {
    return this.#clock() - this.#since >= ms && this.#clock() - this.#last <= maxGapMs;
  }
}
