import { setTimeout as pause } from 'node:timers/promises';
import type { ResolvedScope } from '../domain/scope.ts';
import { cancelled, DataFailure } from '../source/failure.ts';
import type { PassedStatement } from '../sql/gates.ts';
import { createFairQueue } from './fair-queue.ts';
import { createSuspects } from './suspects.ts';
import { type GateThread, type LossReason, type Outcome, startThread } from './thread.ts';

/** Judges and rewrites statements in worker threads, so that no statement can harm what else this process does. */
export interface StatementGate {
  /** For the statements of one tenant. Tenants take turns, and none holds all threads. */
  of(tenant: string): TenantGate;
  /** Throws while no thread runs and none can be started. */
  check(): Promise<void>;
  close(): Promise<void>;
}

export interface TenantGate {
  /** What may run in place of the text. Rejects with a DataFailure that says why there is nothing. */
  pass(text: string, scope: ResolvedScope, signal?: AbortSignal): Promise<PassedStatement>;
}

export interface GateListener {
  onThreads(ready: number): void;
  onLost(reason: LossReason | 'start', cause: unknown): void;
  onDone(outcome: Outcome['kind'], seconds: number): void;
}

export interface GateOptions {
  readonly threads?: number;
  /** Time of one statement in its thread. */
  readonly limitMs?: number;
  /** How long a statement waits for a thread. */
  readonly waitMs?: number;
  readonly entry?: URL;
  readonly listener?: GateListener;
  readonly now?: () => number;
}

/** Two, so that a statement that uses up its time holds one and the others go on. */
const usualThreads = 2;
const usualLimitMs = 3_000;
const usualWaitMs = 10_000;
const mostWaitingOfTenant = 500;
/** V8 ends a thread at its next safe point, which one that runs out of memory may not reach for minutes. */
const endingMs = 2_000;
const mostEnding = 2;
const startPauses = { firstMs: 100, longestMs: 5_000 };

interface Task {
  readonly tenant: string;
  readonly text: string;
  readonly scope: ResolvedScope;
  finish(outcome: Outcome | DataFailure): void;
}

const silent: GateListener = { onThreads: () => undefined, onLost: () => undefined, onDone: () => undefined };

export function createStatementGate(options: GateOptions = {}): StatementGate {
  const {
    threads = usualThreads,
    limitMs = usualLimitMs,
    waitMs = usualWaitMs,
    listener = silent,
    now = () => performance.now(),
  } = options;
  const entry = options.entry ?? new URL('./gate-thread.ts', import.meta.url);
  const queue = createFairQueue<Task>(mostWaitingOfTenant);
  const suspects = createSuspects(now);
  const all = new Set<GateThread>();
  const idle = new Set<GateThread>();
  const running = new Map<string, number>();
  const timers = new Set<NodeJS.Timeout>();
  let ready = 0;
  let runningSuspects = 0;
  let failedStarts = 0;
  let isClosed = false;

  function count(change: 1 | -1): void {
    ready += change;
    listener.onThreads(ready);
  }

  function launch(): void {
    if (isClosed) return;
    const thread = startThread({ entry, limitMs });
    all.add(thread);
    void thread.ended.then(() => all.delete(thread));
    thread.started.then(() => use(thread), launchLater);
  }

  function use(thread: GateThread): void {
    failedStarts = 0;
    count(1);
    void thread.ended.then((cause) => {
      // A thread that ends by itself could do so again at once.
      if (!idle.delete(thread)) return;
      count(-1);
      launchLater(cause);
    });
    idle.add(thread);
    dispatch();
  }

  /** In place of one that must not be used again. It may take long to end, or never do: such threads are few, or no more are started. */
  async function replace(thread: GateThread): Promise<void> {
    count(-1);
    await Promise.race([thread.stop(), pause(endingMs, undefined, { ref: false })]);
    if (all.size >= threads + mostEnding) await thread.ended;
    launch();
  }

  function launchLater(cause: unknown): void {
    if (isClosed) return;
    failedStarts += 1;
    listener.onLost('start', cause);
    const pauseMs = Math.min(startPauses.longestMs, startPauses.firstMs * 2 ** (failedStarts - 1));
    const timer = setTimeout(() => {
      timers.delete(timer);
      launch();
    }, pauseMs);
    timers.add(timer.unref());
  }

  /** One thread always stays free of what a single tenant, or all tenants under suspicion together, send. */
  function mayRun(tenant: string): boolean {
    const most = Math.max(1, threads - 1);
    return (running.get(tenant) ?? 0) < most && !(suspects.has(tenant) && runningSuspects >= most);
  }

  function dispatch(): void {
    for (const thread of idle) {
      const task = queue.next(mayRun);
      if (task === undefined) return;
      idle.delete(thread);
      void work(thread, task);
    }
  }

  async function work(thread: GateThread, task: Task): Promise<void> {
    const { tenant } = task;
    const isSuspect = suspects.has(tenant);
    const begin = performance.now();
    running.set(tenant, (running.get(tenant) ?? 0) + 1);
    if (isSuspect) runningSuspects += 1;
    const outcome = await thread.run(task.text, task.scope);
    const left = (running.get(tenant) ?? 1) - 1;
    if (left > 0) running.set(tenant, left);
    else running.delete(tenant);
    if (isSuspect) runningSuspects -= 1;
    if (outcome.kind !== 'lost' && !outcome.isSpent) idle.add(thread);
    else void replace(thread);
    if (outcome.kind === 'lost') {
      suspects.add(tenant);
      listener.onLost(outcome.reason, outcome.cause);
    }
    listener.onDone(outcome.kind, (performance.now() - begin) / 1000);
    task.finish(outcome);
    dispatch();
  }

  async function take(tenant: string, text: string, { scope, signal }: { scope: ResolvedScope; signal: AbortSignal | undefined }) {
    if (signal?.aborted) throw cancelled(signal.reason);
    if (isClosed) throw busy();
    if (suspects.isBarred(tenant)) throw new DataFailure('refused', barred);
    const { promise, resolve } = Promise.withResolvers<Outcome | DataFailure>();
    const task: Task = { tenant, text, scope, finish: resolve };
    if (!queue.add(tenant, task)) throw busy();
    const leave = (failure: DataFailure) => {
      queue.remove(tenant, task);
      resolve(failure);
    };
    const onAbort = () => leave(cancelled(signal?.reason));
    // Once it runs, the time limit of the thread ends it.
    const timer = setTimeout(() => leave(busy()), waitMs + limitMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      dispatch();
      const outcome = await promise;
      if (outcome instanceof DataFailure) throw outcome;
      return outcome;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  for (let number = 0; number < threads; number += 1) launch();
  return {
    of: (tenant) => ({
      async pass(text, scope, signal) {
        const outcome = await take(tenant, text, { scope, signal });
        if (outcome.kind === 'refused') throw new DataFailure('refused', outcome.message);
        if (outcome.kind === 'lost') throw new DataFailure('refused', tooMuch, outcome.cause);
        const tables = outcome.tables.flatMap((place) => scope.tables[place] ?? []);
        return { text: outcome.text, tables };
      },
    }),
    async check() {
      if (ready === 0 && (failedStarts > 0 || all.size >= threads + mostEnding)) throw new Error('no thread for statements can be started');
    },
    async close() {
      isClosed = true;
      for (const timer of timers) clearTimeout(timer);
      for (const task of queue.drain()) task.finish(busy());
      const ended = Promise.all([...all].map((thread) => thread.stop()));
      await Promise.race([ended, pause(endingMs, undefined, { ref: false })]);
    },
  };
}

const tooMuch = 'The statement takes too much time or memory to read. Send a shorter and simpler one.';
const barred = 'Several statements took too much time or memory to read. Statements are read again in a few seconds.';
const busy = () => new DataFailure('unavailable', 'Too many statements wait to be read. It can be tried again.');
