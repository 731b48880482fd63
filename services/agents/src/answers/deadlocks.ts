import { ServiceError } from '@agent-service/contracts';

const deadlock = '40P01';

/** Of statements that wait for each other the database ends one, which finds nobody in its way the second time. */
export async function onceMoreAfterDeadlock<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    if (!isDeadlock(cause)) throw cause;
    return await run();
  }
}

const isDeadlock = (cause: unknown): boolean =>
  cause instanceof ServiceError && typeof cause.cause === 'object' && (cause.cause as { code?: unknown } | null)?.code === deadlock;
