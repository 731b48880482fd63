import type { Ledger, UserAccount } from './accounts.ts';
import type { CreditEvent } from './events.ts';
import type { Hold } from './holds.ts';
import type { Operation, Usage } from './operations.ts';
import type { Result } from './results.ts';
import type { Transfer } from './transfers.ts';

/** A grant, allocation or change of settings that was decided, refusals included. */
export interface Remembered {
  id: string;
  fingerprint: number;
  result: Result;
  at: number;
}

/** The part of one tenant's ledger that a batch touches (see `touchedBy`). What is not in a map does not exist. */
export interface LedgerState {
  readonly ledger: Readonly<Ledger>;
  readonly users: ReadonlyMap<string, Readonly<UserAccount>>;
  readonly holds: ReadonlyMap<string, Readonly<Hold>>;
  readonly remembered: ReadonlyMap<string, Readonly<Remembered>>;
}

export interface UsageRecord extends Usage {
  /** The hold's id: one hold is used at most once. */
  holdId: string;
  userId: string;
  credits: number;
  at: number;
}

/** What a batch did. `results` follow the order of the operations; everything else is to be written as it stands. */
export interface Outcome {
  results: Result[];
  /** null: unchanged. */
  ledger: Ledger | null;
  users: UserAccount[];
  holds: Hold[];
  remembered: Remembered[];
  transfers: Transfer[];
  usage: UsageRecord[];
  events: CreditEvent[];
}

export interface Touched {
  /** Named by the operations; the users of the holds belong to the state as well. */
  users: Set<string>;
  holds: Set<string>;
  remembered: Set<string>;
}

/** What must be loaded for a batch. */
export function touchedBy(operations: readonly Operation[]): Touched {
  const touched: Touched = { users: new Set(), holds: new Set(), remembered: new Set() };
  for (const operation of operations) {
    if ('userId' in operation) touched.users.add(operation.userId);
    if (operation.kind === 'hold' || operation.kind === 'settle' || operation.kind === 'release') touched.holds.add(operation.id);
    else if ('id' in operation) touched.remembered.add(operation.id);
  }
  return touched;
}
