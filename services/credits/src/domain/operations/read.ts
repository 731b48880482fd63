import { type UserBalance, userBalance } from '../accounts.ts';
import type { ReadOperation, TurnOperation } from '../operations.ts';
import type { Result } from '../results.ts';
import { turn } from '../turn.ts';
import type { Workspace } from '../workspace.ts';

export function turnAccount(work: Workspace, operation: TurnOperation): Result {
  const user = work.user(operation.userId);
  return { ok: true, kind: 'turn', turned: user !== undefined && turn(work, user) };
}

/** A user who never used a credit has none yet, and the limit that the first use will bring. Reading allocates nothing. */
export function read(work: Workspace, operation: ReadOperation): Result {
  const user = work.user(operation.userId);
  if (user === undefined) return { ok: true, kind: 'read', user: unused(work, operation.userId) };
  turn(work, user);
  return { ok: true, kind: 'read', user: userBalance(user) };
}

function unused(work: Workspace, userId: string): UserBalance {
  const { settings, updatedAt } = work.ledger;
  return userBalance({ ...work.draftUser(userId, settings.defaultMonthlyLimit), updatedAt });
}
