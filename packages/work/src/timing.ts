/** Node fires a timer with a longer delay at once. */
const maxTimerMs = 2 ** 31 - 1;

/** A delay that every Node timer accepts: 0 where the time has passed already. */
export const timerMs = (ms: number): number => Math.min(Math.max(0, ms), maxTimerMs);

/** Waits; returns false, and early, if the signal is aborted first. */
export function sleep(ms: number, signal?: AbortSignal): Promise<boolean> {
  if (signal?.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const onAbort = () => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve(true);
    }, timerMs(ms));
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Settles like `work`, or rejects with the error of `failure` after the limit. `work` itself goes on. */
export async function withTimeout<T>(work: Promise<T>, limitMs: number, failure: () => Error): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(failure()), timerMs(limitMs));
  try {
    return await Promise.race([work, expired]);
  } finally {
    clearTimeout(timer);
  }
}

/** Settles like `work`, or rejects with the signal's reason as soon as it is aborted. `work` itself goes on. */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return await work;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
