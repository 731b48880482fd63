import { ServiceError } from '@agent-service/contracts';
import { createSemaphore, type Semaphore, SemaphoreError } from '@agent-service/work';

/** Limits expensive work, so that one organization cannot delay the others. */
export interface OrganizationLimiter {
  /** Runs the work of an organization one after the other. Rejects with `rate_limited` where too much of it waits already. */
  run<T>(organizationId: string, work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

interface OrganizationLimits {
  /** How much runs at once, of different organizations. */
  readonly permits: number;
  /** How much of one organization may wait. */
  readonly maxWaiting: number;
}

interface Lane {
  readonly semaphore: Semaphore;
  callers: number;
}

export function createOrganizationLimiter({ permits, maxWaiting }: OrganizationLimits): OrganizationLimiter {
  const shared = createSemaphore(permits);
  const lanes = new Map<string, Lane>();

  return {
    async run(organizationId, work, signal) {
      const lane = lanes.get(organizationId) ?? { semaphore: createSemaphore(1, { maxWaiting }), callers: 0 };
      lanes.set(organizationId, lane);
      lane.callers += 1;
      try {
        return await lane.semaphore.run(() => shared.run(work, { signal }), { signal });
      } catch (cause) {
        if (cause instanceof SemaphoreError) throw new ServiceError('rate_limited', { cause });
        throw signal.aborted ? new ServiceError('cancelled', { cause }) : cause;
      } finally {
        lane.callers -= 1;
        if (lane.callers === 0) lanes.delete(organizationId);
      }
    },
  };
}
