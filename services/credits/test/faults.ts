import type { Store } from '@agent-service/store';
import type { Discrepancy } from '../src/domain/equations.ts';
import { type Progress, verifyStep } from '../src/ledger/verify.ts';

/** Everything that a proof of all tenants finds. */
export async function proveAll(store: Store, isFull = false): Promise<Discrepancy[]> {
  const found: Discrepancy[] = [];
  let progress: Progress | undefined;
  for (;;) {
    const step = await verifyStep(store, '', progress, isFull);
    if (step === undefined) return found;
    found.push(...step.faults);
    progress = step.progress;
  }
}
