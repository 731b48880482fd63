import { Worker } from 'node:worker_threads';
import type { ResolvedScope } from '../scope/scope.ts';
import type { GateReply, GateRequest } from './thread-server.ts';

/** Why a thread cannot be used again. */
export type LossReason = 'timeout' | 'memory' | 'crash';

export type Outcome =
  | Extract<GateReply, { kind: 'passed' | 'refused' }>
  | { readonly kind: 'lost'; readonly reason: LossReason; readonly cause: unknown };

/** `returned`: not checked, because an earlier statement ended the thread. */
export type ThreadOutcome = Outcome | { readonly kind: 'returned' };

/** A worker thread that passes statements through the gates, in the order in which they are sent. */
export interface GateThread {
  /** Rejects when the thread did not start. */
  readonly started: Promise<void>;
  /** Resolves to the reason when the thread has ended. */
  readonly ended: Promise<unknown>;
  /** Never rejects. After `lost` the thread has ended. */
  run(text: string, scope: ResolvedScope): Promise<ThreadOutcome>;
  stop(): Promise<void>;
}

interface ThreadOptions {
  /** The module that the thread runs. */
  readonly entry: URL;
  /** Time limit of one statement. */
  readonly limitMs: number;
}

/**
 * V8 aborts the whole process when a thread exceeds its heap limit. So that this limit is never reached, `maxHeapBytes` is checked while a
 * statement runs, and a thread cannot allocate the difference between two checks. The stack is larger than the deepest accepted text needs.
 */
const resourceLimits = { maxOldGenerationSizeMb: 4_096, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };
const maxHeapBytes = 128 * 1024 * 1024;
const startLimitMs = 15_000;
/** Time is counted in ticks of the event loop: a process that was frozen counts one tick and not the whole time. */
const tickMs = 25;
const maxScopeBytes = 8 * 1024 * 1024;

export function startThread({ entry, limitMs }: ThreadOptions): GateThread {
  // Without the process's environment, which holds secrets.
  const worker = new Worker(entry, { name: 'statement gate', env: {}, execArgv: [], resourceLimits });
  worker.unref();
  const started = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<unknown>();
  const sent = createSentScopes();
  const pending: ((outcome: ThreadOutcome) => void)[] = [];
  const watch = createWatch(worker, limitMs, lose);

  function finish(outcome: Outcome): void {
    const [first] = pending.splice(0, 1);
    if (outcome.kind !== 'lost' && pending.length > 0) watch.restart();
    else watch.stop();
    first?.(outcome);
    if (outcome.kind === 'lost') for (const resolve of pending.splice(0)) resolve({ kind: 'returned' });
  }

  function lose(reason: LossReason, cause: unknown): void {
    started.reject(cause);
    void worker.terminate();
    finish({ kind: 'lost', reason, cause });
  }

  const startTimer = setTimeout(() => lose('timeout', new Error(`the thread did not start within ${startLimitMs} ms`)), startLimitMs);
  started.promise.catch(() => undefined).finally(() => clearTimeout(startTimer));
  worker.on('message', (reply: GateReply) => {
    if (reply.kind === 'ready') started.resolve();
    else if (reply.kind === 'failed') lose('crash', new Error(reply.message));
    else finish(reply);
  });
  worker.on('error', (cause) => lose(isOutOfMemory(cause) ? 'memory' : 'crash', cause));
  worker.on('exit', (code) => {
    const cause = new Error(`the thread ended with code ${code}`);
    lose('crash', cause);
    ended.resolve(cause);
  });

  return {
    started: started.promise,
    ended: ended.promise,
    run(text, scope) {
      const { promise, resolve } = Promise.withResolvers<ThreadOutcome>();
      if (pending.length === 0) watch.restart();
      pending.push(resolve);
      worker.postMessage({ text, ...sent.prepare(scope) } satisfies GateRequest);
      return promise;
    },
    async stop() {
      await started.promise.catch(() => undefined);
      await worker.terminate();
      await ended.promise;
    },
  };
}

interface Watch {
  /** Begins the time of a statement. */
  restart(): void;
  stop(): void;
}

/** Reports a statement that exceeds its time, or the heap limit of its thread. */
function createWatch(worker: Worker, limitMs: number, onExceeded: (reason: LossReason, cause: Error) => void): Watch {
  let timer: NodeJS.Timeout | undefined;
  let ticks = 0;
  let isMeasuring = false;

  function tick(): void {
    ticks += 1;
    void measureHeap();
    // Check again after this turn of the event loop, because a waiting reply may restart the watch.
    if (isExpired()) setImmediate(() => isExpired() && onExceeded('timeout', new Error(`no reply within ${limitMs} ms`)));
  }

  const isExpired = (): boolean => timer !== undefined && ticks * tickMs > limitMs;

  async function measureHeap(): Promise<void> {
    if (isMeasuring) return;
    isMeasuring = true;
    // Rejects when the thread has ended, which its own event reports.
    const heap = await worker.getHeapStatistics().catch(() => undefined);
    isMeasuring = false;
    if (timer !== undefined && (heap?.used_heap_size ?? 0) > maxHeapBytes)
      onExceeded('memory', new Error('the heap of the thread is full'));
  }

  return {
    restart() {
      ticks = 0;
      timer ??= setInterval(tick, tickMs);
    },
    stop() {
      clearInterval(timer);
      timer = undefined;
    },
  };
}

const isOutOfMemory = (cause: unknown): boolean => (cause as { code?: unknown } | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY';

let lastId = 0;
const ids = new WeakMap<ResolvedScope, number>();

function idOf(scope: ResolvedScope): number {
  const id = ids.get(scope) ?? ++lastId;
  ids.set(scope, id);
  return id;
}

/** The scopes that a thread has. Each is sent once; the least recently used are forgotten when all together exceed `maxScopeBytes`. */
function createSentScopes(): { prepare(scope: ResolvedScope): Omit<GateRequest, 'text'> } {
  const bytesOf = new Map<number, number>();
  let bytes = 0;
  return {
    prepare(scope) {
      const scopeId = idOf(scope);
      const known = bytesOf.get(scopeId);
      const { tables, readOnly, defaultSchema } = scope;
      const scopeJson = known === undefined ? JSON.stringify({ tables, readOnly, defaultSchema }) : undefined;
      const size = known ?? scopeJson?.length ?? 0;
      if (known === undefined) bytes += size;
      bytesOf.delete(scopeId);
      bytesOf.set(scopeId, size);
      const forget: number[] = [];
      for (const [id, itsSize] of bytesOf) {
        if (bytes <= maxScopeBytes || id === scopeId) break;
        bytesOf.delete(id);
        bytes -= itsSize;
        forget.push(id);
      }
      return { scopeId, scopeJson, forget };
    },
  };
}
