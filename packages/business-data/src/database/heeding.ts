import { abortable } from '@agent-service/work';
import { cancelled } from './failure.ts';

/** What others wait for too, as long as this caller wants it. */
export async function heeding<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await work;
  try {
    return await abortable(work, signal);
  } catch (cause) {
    throw signal.aborted && cause === signal.reason ? cancelled(cause) : cause;
  }
}
