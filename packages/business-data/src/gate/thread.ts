import { Worker } from 'node:worker_threads';
import type { ResolvedScope } from '../domain/scope.ts';
import type { GateReply, GateRequest } from './serve-gate.ts';

/** Why a thread can not be used again. */
export type LossReason = 'timeout' | 'memory' | 'crash';

export type Outcome =
  | Extract<GateReply, { kind: 'passed' | 'refused' }>
  | { readonly kind: 'lost'; readonly reason: LossReason; readonly cause: unknown };

/** A worker thread that judges one statement at a time. */
export interface GateThread {
  /** Rejects when the thread did not start. */
  readonly started: Promise<void>;
  /** Resolves to the reason when the thread has ended. */
  readonly ended: Promise<unknown>;
  /** Never rejects. After `lost` the thread is gone. */
  run(text: string, scope: ResolvedScope): Promise<Outcome>;
  stop(): Promise<void>;
}

export interface ThreadOptions {
  /** The module that the thread runs. */
  readonly entry: URL;
  /** Time of one statement. */
  readonly limitMs: number;
}

/** Above what the deepest text that may come needs, so that no statement meets the end of the stack. */
const resourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };
const startLimitMs = 15_000;
/** A process that was frozen loses one slice of the time limit, not all of it. */
const slices = 4;
const mostScopeBytes = 8 * 1024 * 1024;

export function startThread({ entry, limitMs }: ThreadOptions): GateThread {
  // No arguments of the process and none of its settings, which hold secrets.
  const worker = new Worker(entry, { name: 'statement gate', env: {}, execArgv: [], resourceLimits });
  worker.unref();
  const started = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<unknown>();
  const sent = createSentScopes();
  let finish: ((outcome: Outcome) => void) | undefined;

  function lose(reason: LossReason, cause: unknown): void {
    started.reject(cause);
    void worker.terminate();
    finish?.({ kind: 'lost', reason, cause });
  }

  const startTimer = setTimeout(() => lose('timeout', new Error(`the thread did not start within ${startLimitMs} ms`)), startLimitMs);
  started.promise.catch(() => undefined).finally(() => clearTimeout(startTimer));
  worker.on('message', (reply: GateReply) => {
    if (reply.kind === 'ready') started.resolve();
    else if (reply.kind === 'failed') lose('crash', new Error(reply.message));
    else finish?.(reply);
  });
  worker.on('error', (cause) => lose(isOutOfMemory(cause) ? 'memory' : 'crash', cause));
  worker.on('exit', (code) => {
    const cause = new Error(`the thread ended with code ${code}`);
    lose('crash', cause);
    ended.resolve(cause);
  });

  async function run(text: string, scope: ResolvedScope): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    finish = resolve;
    let slice = 0;
    const timer = setInterval(() => {
      slice += 1;
      // After this turn of the event loop, in which a reply may be waiting already.
      if (slice === slices) setImmediate(() => finish === resolve && lose('timeout', new Error(`no reply within ${limitMs} ms`)));
    }, limitMs / slices);
    worker.postMessage({ text, ...sent.prepare(scope) } satisfies GateRequest);
    const outcome = await promise;
    finish = undefined;
    clearInterval(timer);
    return outcome;
  }

  return {
    started: started.promise,
    ended: ended.promise,
    run,
    async stop() {
      await worker.terminate();
      await ended.promise;
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

/** Which scopes a thread has: each is sent once, and those not used for longest are forgotten when they are too much together. */
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
        if (bytes <= mostScopeBytes || id === scopeId) break;
        bytesOf.delete(id);
        bytes -= itsSize;
        forget.push(id);
      }
      return { scopeId, scopeJson, forget };
    },
  };
}
