import { createSemaphore, type Semaphore, SemaphoreError } from '@agent-service/work';
import { ServiceError } from '../errors/service-error.ts';

/** Limits expensive work that many cause, such as organizations or addresses, so that one of them cannot delay the others. */
export interface FairLimiter {
  /** Runs the work of a lane one after the other. Rejects with `rate_limited` where too much of it waits already. */
  run<T>(lane: string, work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

interface FairLimits {
  /** How much runs at once, of different lanes. */
  readonly permits: number;
  /** How much of one lane may wait. */
  readonly maxWaiting: number;
}

interface Lane {
  readonly semaphore: Semaphore;
  callers: number;
}

export function createFairLimiter({ permits, maxWaiting }: FairLimits): FairLimiter {
  const shared = createSemaphore(permits);
  const lanes = new Map<string, Lane>();

  return {
    async run(name, work, signal) {
      const lane = lanes.get(name) ?? { semaphore: createSemaphore(1, { maxWaiting }), callers: 0 };
      lanes.set(name, lane);
      lane.callers += 1;
      try {
        return await lane.semaphore.run(() => shared.run(work, { signal }), { signal });
      } catch (cause) {
        if (cause instanceof SemaphoreError) throw new ServiceError('rate_limited', { cause });
        throw signal.aborted ? new ServiceError('cancelled', { cause }) : cause;
      } finally {
        lane.callers -= 1;
        if (lane.callers === 0) lanes.delete(name);
      }
    },
  };
}
