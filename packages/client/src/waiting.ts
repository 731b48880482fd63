import { TimeoutError } from './errors.ts';

/** Timers fire at once for longer times, such as Infinity. */
const maxTimerMs = 2 ** 31 - 1;
const startTimer = (run: () => void, ms: number) => setTimeout(run, Math.min(ms, maxTimerMs));

/** Resolves after the time, or rejects with the reason of the signal. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = startTimer(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** The outcome of shared work, or the reason of the signal of one who waits for it; the work itself goes on. */
export function abortable<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** A signal that a time limit ends, unless it is extended, or the caller. */
export interface Limit {
  readonly signal: AbortSignal;
  /** Begins the time again. */
  extend(): void;
  /** Stops counting until `extend`. */
  pause(): void;
  /** Releases the timer and the caller's signal. */
  release(): void;
}

export function timeLimit(ms: number, caller?: AbortSignal): Limit {
  const controller = new AbortController();
  const expire = () => controller.abort(new TimeoutError(`Nothing arrived within ${ms} ms.`));
  const abort = () => controller.abort(caller?.reason);
  let timer = startTimer(expire, ms);
  if (caller?.aborted) abort();
  caller?.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    extend() {
      clearTimeout(timer);
      timer = startTimer(expire, ms);
    },
    pause: () => clearTimeout(timer),
    release() {
      clearTimeout(timer);
      caller?.removeEventListener('abort', abort);
    },
  };
}

/** Half of a pause that doubles with each attempt, up to 8 s, and a random part of the other half. */
export function backoffMs(attempt: number, random: () => number = Math.random): number {
  const whole = Math.min(8_000, 250 * 2 ** attempt);
  return whole / 2 + (random() * whole) / 2;
}
