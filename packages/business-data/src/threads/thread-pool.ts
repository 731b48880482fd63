import { setTimeout as pause } from 'node:timers/promises';
import { createBackoff } from '@agent-service/work';
import { type GateThread, type LossReason, startThread } from './thread.ts';

interface ThreadPoolOptions {
  readonly threads: number;
  readonly entry: URL;
  /** Time limit of one statement. */
  readonly limitMs: number;
  /** A thread became idle. */
  onIdle(): void;
  onThreads(ready: number): void;
  onLost(reason: LossReason | 'start', cause: unknown): void;
}

/**
 * Keeps a number of threads running after `start`. Replaces those that must not be used again, and, after growing pauses, those that end by themselves.
 */
interface ThreadPool {
  /** Starts the threads; later calls have no effect. A process that checks no statements has no threads, which take 30 MB each. */
  start(): void;
  /** Removes the idle thread that was used last, whose caches are warm. */
  acquire(): GateThread | undefined;
  release(thread: GateThread): void;
  /** Called instead of `release` for a thread that must not be used again. */
  replace(thread: GateThread): void;
  /** Throws while no thread runs and none can be started. */
  check(): void;
  close(): Promise<void>;
}

/** V8 ends a thread at its next safe point, which a thread without memory may reach only after minutes. */
const endingMs = 2_000;
const maxEnding = 2;
const pauseAfter = createBackoff({ firstMs: 100, maxMs: 5_000 });

export function createThreadPool({ threads, entry, limitMs, onIdle, onThreads, onLost }: ThreadPoolOptions): ThreadPool {
  const all = new Set<GateThread>();
  const idle: GateThread[] = [];
  const timers = createTimers();
  let ready = 0;
  let failedStarts = 0;
  let isStarted = false;
  let isClosed = false;

  function count(change: 1 | -1): void {
    ready += change;
    onThreads(ready);
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
      const index = idle.indexOf(thread);
      if (index < 0) return;
      idle.splice(index, 1);
      count(-1);
      launchLater(cause);
    });
    idle.push(thread);
    onIdle();
  }

  /** A thread may take long to end, or never end: at most `maxEnding` such threads are left running. */
  async function replace(thread: GateThread): Promise<void> {
    count(-1);
    await Promise.race([thread.stop(), pause(endingMs, undefined, { ref: false })]);
    if (all.size >= threads + maxEnding) await thread.ended;
    launch();
  }

  function launchLater(cause: unknown): void {
    if (isClosed) return;
    failedStarts += 1;
    onLost('start', cause);
    timers.add(launch, pauseAfter(failedStarts));
  }

  return {
    start() {
      if (isStarted) return;
      isStarted = true;
      for (let number = 0; number < threads; number += 1) launch();
    },
    acquire: () => idle.pop(),
    release: (thread) => void idle.push(thread),
    replace: (thread) => void replace(thread),
    check() {
      if (ready === 0 && (failedStarts > 0 || all.size >= threads + maxEnding)) throw new Error('no thread for statements can be started');
    },
    async close() {
      isClosed = true;
      timers.clear();
      await Promise.race([Promise.all([...all].map((thread) => thread.stop())), pause(endingMs, undefined, { ref: false })]);
    },
  };
}

/** Timers that do not keep the process alive and can be cleared together. */
function createTimers(): { add(work: () => void, ms: number): void; clear(): void } {
  const timers = new Set<NodeJS.Timeout>();
  return {
    add(work, ms) {
      const timer = setTimeout(() => {
        timers.delete(timer);
        work();
      }, ms);
      timers.add(timer.unref());
    },
    clear() {
      for (const timer of timers) clearTimeout(timer);
    },
  };
}
