import { endHold } from '../end-hold.ts';
import { settleFingerprint } from '../fingerprint.ts';
import { type Hold, isForgotten, voidHold } from '../holds.ts';
import type { SettleOperation } from '../operations.ts';
import { type Result, refuse } from '../results.ts';
import type { Workspace } from '../workspace.ts';

/** Charges an open hold, never above it, and records the use. The charge counts in the month it settles. */
export function settle(work: Workspace, operation: SettleOperation): Result {
  const held = work.hold(operation.id);
  if (held === undefined) work.saveHold(voidHold(operation.id, work.now));
  if (held === undefined || isForgotten(held, work.now)) return refuse('hold_not_found');
  switch (held.state) {
    case 'open':
      return charge(work, held, operation);
    case 'settled':
      if (held.settledAs !== settleFingerprint(operation)) return refuse('idempotency_conflict');
      return { ok: true, kind: 'settle', charge: held.charge };
    case 'released':
      return refuse('hold_released');
    case 'refused':
    case 'void':
      return refuse('hold_not_found');
  }
}

function charge(work: Workspace, held: Readonly<Hold>, operation: SettleOperation): Result {
  const credits = Math.min(operation.amount, held.amount);
  endHold(work, `settle:${held.id}`, held, credits);
  work.saveHold({ ...held, state: 'settled', charge: credits, settledAs: settleFingerprint(operation), endedAt: work.now });
  work.usage.push({ ...operation.usage, holdId: held.id, userId: held.userId, credits, at: work.now });
  return { ok: true, kind: 'settle', charge: credits };
}
