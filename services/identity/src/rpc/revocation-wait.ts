import { setTimeout as pause } from 'node:timers/promises';
import { revocationWaitMs } from '../domain/revocation.ts';

/** Waits until no gateway accepts a credential that was revoked so long ago. */
export async function untilSettled(revokedForMs: number): Promise<void> {
  const waitMs = revocationWaitMs(revokedForMs);
  if (waitMs > 0) await pause(waitMs);
}
