import { timerMs } from './timing.ts';

/** Limits parallel work. Waiting callers get their permits in the order in which they asked. */
export interface Semaphore {
  run<T>(work: () => Promise<T>, wait?: Wait): Promise<T>;
  /** Resolves to a function that returns the permit; further calls of that function have no effect. */
  acquire(wait?: Wait): Promise<() => void>;
  readonly waiting: number;
}

interface Wait {
  /** A caller that waits longer is rejected with a `SemaphoreError`. Without it only the signal ends the wait. */
  readonly limitMs?: number | undefined;
  /** A waiting caller whose signal is aborted is rejected with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** `full`: too many callers wait already. `timeout`: the caller waited as long as it was willing to. */
export class SemaphoreError extends Error {
  override name = 'SemaphoreError';
  readonly reason: 'full' | 'timeout';

  constructor(reason: 'full' | 'timeout') {
    super(reason === 'full' ? 'too many callers wait for a permit' : 'no permit became free in time');
    this.reason = reason;
  }
}

export interface SemaphoreOptions {
  /** Callers beyond this are rejected at once. Leave it out only where something else bounds the callers. */
  readonly maxWaiting?: number;
}

const noWait: Wait = {};

export function createSemaphore(permits: number, { maxWaiting = Number.POSITIVE_INFINITY }: SemaphoreOptions = {}): Semaphore {
  let free = permits;
  // A set, because a caller that gives up leaves from the middle of the line.
  const waiting = new Set<() => void>();

  function release(): void {
    const [next] = waiting;
    if (next === undefined) {
      free += 1;
      return;
    }
    waiting.delete(next);
    next();
  }

  function waitForPermit({ limitMs, signal }: Wait): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (waiting.size >= maxWaiting) return Promise.reject(new SemaphoreError('full'));
    if (limitMs === undefined && !signal) return new Promise((resolve) => waiting.add(resolve));
    return new Promise((resolve, reject) => {
      const leave = (cause: unknown) => {
        waiting.delete(proceed);
        stopWaiting();
        reject(cause);
      };
      const onAbort = () => leave(signal?.reason);
      const timer = limitMs === undefined ? undefined : setTimeout(() => leave(new SemaphoreError('timeout')), timerMs(limitMs));
      const stopWaiting = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      const proceed = () => {
        stopWaiting();
        resolve();
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      waiting.add(proceed);
    });
  }

  /** Takes a permit without waiting, which is the usual case and costs no promise. */
  function takeFree({ signal }: Wait): boolean {
    if (free === 0 || signal?.aborted) return false;
    free -= 1;
    return true;
  }

  return {
    run(work, wait = noWait) {
      return takeFree(wait) ? runAndRelease(work, release) : waitForPermit(wait).then(() => runAndRelease(work, release));
    },
    async acquire(wait = noWait) {
      if (!takeFree(wait)) await waitForPermit(wait);
      let isHeld = true;
      return () => {
        if (isHeld) release();
        isHeld = false;
      };
    },
    get waiting() {
      return waiting.size;
    },
  };
}

async function runAndRelease<T>(work: () => Promise<T>, release: () => void): Promise<T> {
  try {
    return await work();
  } finally {
    release();
  }
}
