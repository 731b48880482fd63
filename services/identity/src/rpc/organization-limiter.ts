import { ServiceError } from '@agent-service/contracts';
import { createSemaphore, type Semaphore } from '@agent-service/runtime';

/** Runs expensive work so that one organization cannot take the service from the others. */
export interface OrganizationLimiter {
  /** Refuses with `rate_limited` where too much work of the organization is waiting. Skips work whose caller has left. */
  run<T>(organizationId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

export interface OrganizationLimits {
  /** How much runs at once, of one organization at most one. */
  readonly atOnce: number;
  /** How much of one organization waits at most. */
  readonly waiting: number;
}

interface Lane {
  readonly semaphore: Semaphore;
  size: number;
}

export function createOrganizationLimiter({ atOnce, waiting }: OrganizationLimits): OrganizationLimiter {
  const shared = createSemaphore(atOnce);
  const lanes = new Map<string, Lane>();

  return {
    async run(organizationId, work, signal) {
      const lane = lanes.get(organizationId) ?? { semaphore: createSemaphore(1), size: 0 };
      if (lane.size > waiting) throw new ServiceError('rate_limited');
      lanes.set(organizationId, lane);
      lane.size += 1;
      const runUnlessLeft = () => (signal?.aborted ? Promise.reject(new ServiceError('cancelled')) : work());
      try {
        return await lane.semaphore.run(() => shared.run(runUnlessLeft));
      } finally {
        lane.size -= 1;
        if (lane.size === 0) lanes.delete(organizationId);
      }
    },
  };
}
