import { randomUUID } from 'node:crypto';
import { withCall } from '@agent-service/contracts';

/** A batch is nobody's call: it must not inherit the deadline, the rights or the departure of whoever came first. */
export const detached = <T>(limitMs: number, work: () => Promise<T>): Promise<T> =>
  withCall({ requestId: randomUUID(), expiresAt: performance.now() + limitMs }, work);
