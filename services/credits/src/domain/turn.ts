import { room, type UserAccount } from './accounts.ts';
import { monthLabel } from './month.ts';
import type { Workspace } from './workspace.ts';

/**
 * Brings the account into the current month: what is unused goes back to the pool, then the account is filled to its limit
 * and what is carried, as far as the pool goes. User and month name the transfers, so no month is turned twice
 * whoever meets the account first.
 */
export function turn(work: Workspace, user: UserAccount): boolean {
  const missed = work.month - user.month;
  if (missed <= 0) return false;
  const key = `turn:${user.userId}:${monthLabel(work.month)}`;
  const unused = user.balance;
  work.transfer(key, 'return', unused, user);
  user.used = 0;
  user.carried = carry(user, unused);
  if (missed > 1) user.carried = carry(user, Math.min(work.ledger.pool, room(user)));
  user.month = work.month;
  work.transfer(key, 'fill', Math.min(work.ledger.pool, room(user)), user);
  work.saveUser(user);
  return true;
}

/**
 * After a month that nobody met, the account was full and went unused: what it would have held is carried again. One such
 * month stands for any number of them, as a full account left alone carries the same every month.
 */
function carry(user: UserAccount, unused: number): number {
  return user.rollover ? Math.min(user.monthlyLimit, unused) : 0;
}
