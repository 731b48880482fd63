import { type Ledger, lowBalanceThreshold, totalBalance } from './accounts.ts';

export type CreditSource = 'purchase' | 'auto_replenish';

interface Common {
  /** The operation's kind and id, the type, and the source if there is one: unique in the tenant. */
  id: string;
  at: number;
  balance: number;
}

export type CreditEvent =
  | (Common & { type: 'credits.low_balance'; threshold: number })
  | (Common & { type: 'credits.depleted' })
  | (Common & { type: 'credits.replenished'; amount: number; source: CreditSource });

/** What of the ledger an event depends on, read before an operation and compared after it. */
export interface Standing {
  balance: number;
  threshold: number;
}

export function standing(ledger: Ledger): Standing {
  return { balance: totalBalance(ledger), threshold: lowBalanceThreshold(ledger) };
}

/**
 * The warnings between two standings. Comparing both sides makes each a crossing: it is raised once and armed again
 * by the balance itself, with no flag to keep.
 */
export function crossings(key: string, before: Standing, after: Standing, at: number): CreditEvent[] {
  const { balance, threshold } = after;
  const events: CreditEvent[] = [];
  if (before.balance >= before.threshold && balance < threshold) {
    events.push({ id: `${key}:credits.low_balance`, at, balance, type: 'credits.low_balance', threshold });
  }
  if (before.balance > 0 && balance === 0) events.push({ id: `${key}:credits.depleted`, at, balance, type: 'credits.depleted' });
  return events;
}
