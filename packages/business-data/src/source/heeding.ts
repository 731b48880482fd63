import { untilAborted } from '@agent-service/runtime';
import { cancelled } from './failure.ts';

/** What others wait for too, as long as this caller wants it. */
export async function heeding<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await work;
  try {
    return await untilAborted(work, signal);
  } catch (cause) {
    throw signal.aborted && cause === signal.reason ? cancelled(cause) : cause;
  }
}
