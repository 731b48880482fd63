import { room } from '../accounts.ts';
import type { AllocateOperation } from '../operations.ts';
import { type Result, refuseShort } from '../results.ts';
import { turn } from '../turn.ts';
import type { Workspace } from '../workspace.ts';

/**
 * Sets a user's limit and moves the difference between pool and account. Only a raise can be refused: a lower limit binds at
 * once, also on what was carried, whatever the pool holds.
 */
export function allocate(work: Workspace, operation: AllocateOperation): Result {
  const { id, userId, monthlyLimit, rollover } = operation;
  const user = work.user(userId) ?? work.draftUser(userId, 0);
  turn(work, user);
  const carried = Math.min(user.carried, monthlyLimit);
  const target = Math.max(0, monthlyLimit + carried - user.used - user.held);
  const missing = target - user.balance;
  const pool = work.ledger.pool;
  if (target > room(user) && missing > pool) return refuseShort('insufficient_unallocated_credits', missing, pool);

  Object.assign(user, { monthlyLimit, carried, rollover, effectiveFrom: work.now });
  const key = `allocate:${id}`;
  if (missing < 0) work.transfer(key, 'return', -missing, user);
  else work.transfer(key, 'fill', Math.min(missing, pool), user);
  work.saveUser(user);
  return {
    ok: true,
    kind: 'allocate',
    allocation: { userId, monthlyLimit, rolloverEnabled: rollover, effectiveFrom: work.now, updatedAt: work.now },
  };
}
