import { MAX_ISSUED } from '../amounts.ts';
import type { GrantOperation } from '../operations.ts';
import { type Result, refuse } from '../results.ts';
import type { Workspace } from '../workspace.ts';

/** Brings purchased credits into the pool. */
export function grant(work: Workspace, operation: GrantOperation): Result {
  const { id, amount } = operation;
  if (amount > MAX_ISSUED - work.ledger.issued) return refuse('issue_limit_reached');
  const key = `grant:${id}`;
  work.transfer(key, 'purchase', amount, null);
  work.ledger.lastPurchase = amount;
  work.announceCredits(key, amount, 'purchase');
  return { ok: true, kind: 'grant', amount };
}
