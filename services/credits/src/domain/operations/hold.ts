import { room, spendable, type UserAccount } from '../accounts.ts';
import { type Hold, openHold, refusedHold } from '../holds.ts';
import type { HoldOperation } from '../operations.ts';
import { replenish } from '../replenish.ts';
import { type Refusal, type Result, refuse, refuseShort } from '../results.ts';
import { turn } from '../turn.ts';
import type { Workspace } from '../workspace.ts';

/** Sets the ceiling of an answer aside, or refuses. Whatever is held later is charged or freed, never found missing. */
export function hold(work: Workspace, operation: HoldOperation): Result {
  const known = work.hold(operation.id);
  if (known !== undefined) return repeated(known, operation);

  const { id, userId, amount, deadline } = operation;
  const key = `hold:${id}`;
  replenish(work, key);
  const existing = work.user(userId);
  const user = existing ?? work.draftUser(userId, work.ledger.settings.defaultMonthlyLimit);
  turn(work, user);
  const refusal = shortage(user, work.ledger.pool, amount);
  if (refusal !== null) {
    work.saveHold(refusedHold(id, userId, amount, deadline, refusal, work.now));
    return refusal;
  }
  if (existing === undefined || user.balance < amount)
    work.transfer(key, 'fill', Math.min(work.ledger.pool, room(user) - user.balance), user);
  work.transfer(key, 'hold', amount, user);
  work.saveUser(user);
  work.saveHold(openHold(id, userId, amount, deadline, work.now));
  return { ok: true, kind: 'hold', amount };
}

function repeated(known: Readonly<Hold>, operation: HoldOperation): Result {
  if (known.state === 'void') return refuse('hold_released');
  const same = known.userId === operation.userId && known.amount === operation.amount && known.deadline === operation.deadline;
  if (!same) return refuse('idempotency_conflict');
  return known.refusal ?? { ok: true, kind: 'hold', amount: known.amount };
}

function shortage(user: UserAccount, pool: number, amount: number): Refusal | null {
  if (amount > spendable(user)) return refuseShort('user_limit_reached', amount, room(user));
  const reachable = user.balance + pool;
  return amount > reachable ? refuseShort('credits_exhausted', amount, reachable) : null;
}
