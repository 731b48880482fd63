import { type Call, createFairLimiter, type Principal, ServiceError } from '@agent-service/contracts';

/** The caller of a change. */
interface ChangeCall extends Pick<Call, 'signal' | 'requestedOnce'> {
  readonly principal: Pick<Principal, 'organizationId'> | undefined;
}

/** Limits the changes that callers make with transactions. */
export interface ChangeLimiter {
  /**
   * Runs the changes of one organization in this process one after the other, on connections that leave half of the pool to everything else. They wait for
   * locks of the same rows, and each that waited in the database would hold a connection that other organizations need.
   */
  run<T>(call: ChangeCall, change: () => Promise<T>): Promise<T>;
}

/** More than the writes that one credential may send in two consecutive minutes (120 each). A change takes a few ms. */
const maxWaiting = 250;

export function createChangeLimiter(connections: number): ChangeLimiter {
  const limiter = createFairLimiter({ permits: Math.ceil(connections / 2), maxWaiting });
  /** The Idempotency-Keys of changes that run or wait: a repeated request would wait for the first, and is refused at once. */
  const keys = new Set<string>();

  return {
    async run({ principal, signal, requestedOnce }, change) {
      // The changes of operators, which carry no principal, are a lane of their own.
      const lane = principal?.organizationId ?? '';
      const key = requestedOnce?.scope;
      if (key === undefined) return await limiter.run(lane, change, signal);
      if (keys.has(key)) throw new ServiceError('idempotency_in_progress');
      keys.add(key);
      try {
        return await limiter.run(lane, change, signal);
      } finally {
        keys.delete(key);
      }
    },
  };
}
