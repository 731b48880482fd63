import { totalBalance } from './accounts.ts';
import { MAX_ISSUED } from './amounts.ts';
import type { Workspace } from './workspace.ts';

/**
 * Adds the replenish amount until the balance is at or above the threshold, as one transfer, within what the batch may
 * still add. A tenant that this leaves below goes on with the next batch.
 */
export function replenish(work: Workspace, key: string): void {
  const { autoReplenish, replenishThreshold, replenishAmount } = work.ledger.settings;
  const missing = replenishThreshold - totalBalance(work.ledger);
  if (!autoReplenish || missing <= 0) return;
  const affordable = Math.floor((MAX_ISSUED - work.ledger.issued) / replenishAmount);
  const times = Math.min(Math.ceil(missing / replenishAmount), work.replenishmentsLeft, affordable);
  if (times === 0) return;
  const amount = times * replenishAmount;
  work.replenishmentsLeft -= times;
  work.transfer(key, 'replenish', amount, null);
  work.announceCredits(key, amount, 'auto_replenish');
}
