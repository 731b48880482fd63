import { cancelled } from './failure.ts';

/** What others wait for too, as long as this caller wants it. */
export async function heeding<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await work;
  const { promise: left, reject } = Promise.withResolvers<never>();
  const leave = () => reject(cancelled(signal.reason));
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([work, left]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
