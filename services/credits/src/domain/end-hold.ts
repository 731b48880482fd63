import { room } from './accounts.ts';
import type { Hold } from './holds.ts';
import { turn } from './turn.ts';
import type { Workspace } from './workspace.ts';

/** Moves a hold's credits on: the charge is spent, the rest is free again, and what the limit no longer allows is the pool's. */
export function endHold(work: Workspace, key: string, held: Readonly<Hold>, charge: number): void {
  const user = work.holder(held);
  turn(work, user);
  work.transfer(key, 'charge', charge, user);
  work.transfer(key, 'release', held.amount - charge, user);
  user.used += charge;
  work.transfer(key, 'return', Math.max(0, user.balance - room(user)), user);
  work.saveUser(user);
}
