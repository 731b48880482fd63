import type { ProcessContext } from '@agent-service/runtime';
import { tenantOfName } from '@agent-service/work';
import { cancelled, DataFailure } from '../failure.ts';
import type { PassedStatement } from '../gates/pass-gates.ts';
import type { ResolvedScope } from '../scope/scope.ts';
import { type CostlyTenants, createCostlyTenants } from './costly-tenants.ts';
import { createFairQueue } from './fair-queue.ts';
import type { GateThread, LossReason, Outcome, ThreadOutcome } from './thread.ts';
import { createThreadPool } from './thread-pool.ts';

/** Passes statements through the gates in worker threads, so that no statement can stop or fill this process. */
export interface StatementGate {
  /** Starts the threads before the first statement, which otherwise starts them. */
  prepare(): void;
  /** The gate for statements of one tenant. Tenants take turns, and none holds all threads. */
  of(tenant: string): TenantGate;
  /** Throws while no thread runs and none can be started. */
  check(): Promise<void>;
  close(): Promise<void>;
}

export interface TenantGate {
  /** Returns the rewritten statement. Rejects with a DataFailure that says why the text may not run. */
  pass(text: string, scope: ResolvedScope, signal?: AbortSignal): Promise<PassedStatement>;
}

interface GateListener {
  onThreads(ready: number): void;
  /** With the name of the tenant whose statement the thread had; a thread that does not start, or ends between statements, had none. */
  onLost(reason: LossReason | 'start', cause: unknown, tenant?: string): void;
  onDone(outcome: Outcome['kind'], seconds: number): void;
}

export interface GateOptions {
  readonly threads?: number;
  /** Time limit of one statement in its thread. */
  readonly limitMs?: number;
  /** How long a statement waits for a thread. */
  readonly waitMs?: number;
  readonly entry?: URL;
  readonly listener?: GateListener;
  readonly now?: () => number;
}

/** With two, statements continue in one while a slow statement uses the other. */
const defaultThreads = 2;
const defaultLimitMs = 3_000;
const defaultWaitMs = 10_000;
const maxWaitingOfTenant = 500;
/** Statements of one tenant in a thread at once: the next one begins before the reply to the first has been read. */
const maxInThread = 2;

interface Task {
  readonly tenant: string;
  readonly text: string;
  readonly scope: ResolvedScope;
  finish(outcome: Outcome | DataFailure): void;
  /** Starts the limit of its waiting time. */
  limitWait(): void;
}

/** A thread in use by one tenant. */
interface Holding {
  readonly thread: GateThread;
  readonly tenant: string;
  /** Statements sent to the thread without a reply yet. */
  statements: number;
  /** When the thread began the oldest of them. */
  since: number;
  /** No more statements go to this thread. */
  isClosed: boolean;
}

interface Scheduler {
  prepare(): void;
  /** Queues the task. Returns false when too many of its tenant wait. */
  submit(task: Task): boolean;
  withdraw(task: Task): void;
  isBlocked(tenant: string): boolean;
  check(): void;
  close(): Promise<void>;
}

const threadEntry = new URL('./thread-entry.ts', import.meta.url);
const noListener: GateListener = { onThreads: () => undefined, onLost: () => undefined, onDone: () => undefined };

function createScheduler(options: GateOptions, limitMs: number): Scheduler {
  const { entry = threadEntry, threads = defaultThreads, listener = noListener, now = () => performance.now() } = options;
  const queue = createFairQueue<Task>(maxWaitingOfTenant);
  const costly = createCostlyTenants(now);
  const holdings = new Set<Holding>();
  const pool = createThreadPool({ threads, entry, limitMs, onThreads: listener.onThreads, onLost: listener.onLost, onIdle: dispatch });

  function dispatch(): void {
    for (let thread = pool.acquire(); thread !== undefined; thread = pool.acquire()) {
      const task = queue.next((tenant) => mayHoldThread(tenant, { threads, holdings, costly }));
      if (task === undefined) {
        pool.release(thread);
        break;
      }
      const holding: Holding = { thread, tenant: task.tenant, statements: 0, since: performance.now(), isClosed: false };
      holdings.add(holding);
      void run(holding, task);
    }
    for (const holding of holdings) fill(holding);
  }

  /** Sends a second statement of the same tenant ahead, but only while no other tenant waits for a thread. */
  function fill(holding: Holding): void {
    if (holding.isClosed || holding.statements >= maxInThread || costly.hasLosses(holding.tenant)) return;
    const task = queue.nextOfOnly(holding.tenant);
    if (task !== undefined) void run(holding, task);
  }

  async function run(holding: Holding, task: Task): Promise<void> {
    holding.statements += 1;
    const outcome = await holding.thread.run(task.text, task.scope);
    const ms = performance.now() - holding.since;
    holding.since = performance.now();
    holding.statements -= 1;
    release(holding, outcome);
    if (outcome.kind === 'returned') {
      queue.putBack(task.tenant, task);
      task.limitWait();
    } else {
      record(task.tenant, outcome, { costly, listener, ms });
      task.finish(outcome);
    }
    dispatch();
  }

  function release(holding: Holding, outcome: ThreadOutcome): void {
    if (endsThread(outcome)) holding.isClosed = true;
    if (!holdings.has(holding) || (holding.statements > 0 && outcome.kind !== 'lost')) return;
    holdings.delete(holding);
    (holding.isClosed ? pool.replace : pool.release)(holding.thread);
  }

  return {
    prepare: pool.start,
    submit(task) {
      pool.start();
      if (!queue.add(task.tenant, task)) return false;
      dispatch();
      if (queue.has(task.tenant, task)) task.limitWait();
      return true;
    },
    withdraw: (task) => queue.remove(task.tenant, task),
    isBlocked: costly.isBlocked,
    check: pool.check,
    async close() {
      for (const task of queue.drain()) task.finish(busy());
      await pool.close();
    },
  };
}

const endsThread = (outcome: ThreadOutcome): boolean => outcome.kind === 'lost' || (outcome.kind !== 'returned' && outcome.isUsedUp);

interface ThreadUse {
  readonly threads: number;
  readonly holdings: ReadonlySet<Holding>;
  readonly costly: CostlyTenants;
}

/** A single tenant, and all costly tenants together, hold all threads but one. */
function mayHoldThread(tenant: string, { threads, holdings, costly }: ThreadUse): boolean {
  const max = Math.max(1, threads - 1);
  const tenants = [...holdings].map((holding) => holding.tenant);
  if (tenants.filter((other) => other === tenant).length >= max) return false;
  return !costly.isCostly(tenant) || tenants.filter((other) => costly.isCostly(other)).length < max;
}

interface Recording {
  readonly costly: CostlyTenants;
  readonly listener: GateListener;
  readonly ms: number;
}

function record(tenant: string, outcome: Outcome, { costly, listener, ms }: Recording): void {
  listener.onDone(outcome.kind, ms / 1000);
  if (outcome.kind === 'lost') {
    costly.recordLoss(tenant);
    listener.onLost(outcome.reason, outcome.cause, tenant);
  } else costly.recordCost(tenant, outcome.cpuMs);
}

export function createStatementGate(options: GateOptions = {}): StatementGate {
  const { limitMs = defaultLimitMs, waitMs = defaultWaitMs } = options;
  const scheduler = createScheduler(options, limitMs);
  let isClosed = false;

  async function run(tenant: string, text: string, { scope, signal }: { scope: ResolvedScope; signal: AbortSignal | undefined }) {
    if (signal?.aborted) throw cancelled(signal.reason);
    if (isClosed) throw busy();
    if (scheduler.isBlocked(tenant)) throw new DataFailure('refused', blocked);
    const { promise, resolve } = Promise.withResolvers<Outcome | DataFailure>();
    let timer: NodeJS.Timeout | undefined;
    const limitWait = () => {
      timer ??= setTimeout(() => cancel(busy()), waitMs + limitMs);
    };
    const task: Task = { tenant, text, scope, finish: resolve, limitWait };
    const cancel = (failure: DataFailure) => {
      scheduler.withdraw(task);
      resolve(failure);
    };
    const onAbort = () => cancel(cancelled(signal?.reason));
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      if (!scheduler.submit(task)) throw busy();
      const outcome = await promise;
      if (outcome instanceof DataFailure) throw outcome;
      return outcome;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  return {
    prepare: scheduler.prepare,
    of: (tenant) => ({
      async pass(text, scope, signal) {
        const outcome = await run(tenant, text, { scope, signal });
        if (outcome.kind === 'refused') throw new DataFailure('refused', outcome.message);
        if (outcome.kind === 'lost') throw new DataFailure('refused', tooMuch, outcome.cause);
        const tables = outcome.tables.flatMap((position) => scope.tables[position] ?? []);
        return { text: outcome.text, tables };
      },
    }),
    check: async () => scheduler.check(),
    close() {
      isClosed = true;
      return scheduler.close();
    },
  };
}

const tooMuch = 'The statement takes too much time or memory to check. Send a shorter and simpler one.';
const blocked = 'Several statements took too much time or memory to check. Statements are accepted again in a few seconds.';
const busy = () => new DataFailure('unavailable', 'Too many statements wait to be checked. It can be tried again.');

/** A gate that is closed with the process, makes it unready while no thread can be started, and reports to its log and metrics. */
export function openStatementGate(
  { logger, metrics, health, onStop }: ProcessContext,
  options: Pick<GateOptions, 'threads' | 'entry'> = {},
): StatementGate {
  const threads = metrics.gauge('statement_gate_threads', 'Threads that are ready to check statements', []);
  const lost = metrics.counter('statement_gate_threads_lost_total', 'Threads that had to be replaced or could not be started', ['reason']);
  const seconds = metrics.seconds('statement_gate_seconds', 'One statement in its thread', ['outcome']);
  const gate = createStatementGate({
    ...options,
    listener: {
      onThreads: (ready) => threads.set(ready),
      onLost(reason, cause, tenant) {
        lost.inc({ reason });
        const of = tenant === undefined ? undefined : tenantOfName(tenant);
        logger.warn({
          event: 'statement_gate_thread_lost',
          reason,
          organization_id: of?.organizationId,
          environment: of?.environment,
          err: cause,
        });
      },
      onDone: (outcome, duration) => seconds.observe({ outcome }, duration),
    },
  });
  health.addCheck('statement gate', gate.check);
  onStop('statement gate', () => gate.close());
  return gate;
}
