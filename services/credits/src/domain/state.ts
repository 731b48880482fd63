import type { Ledger, UserAccount } from './accounts.ts';
import type { Refusal, Result, Usage } from './operations.ts';

/** A grant, allocation or change of settings that was decided, refusals included. */
export interface Remembered {
  id: string;
  fingerprint: number;
  result: Result;
  at: number;
}

/** The part of one tenant's ledger that a batch touches (see `touchedBy`). A row that is in no map does not exist. */
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

/** The outcome of a batch. `results` follow the order of the operations; everything else is written as it is. */
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

export interface Hold {
  id: string;
  /** Empty for a void hold. */
  userId: string;
  amount: number;
  /** The deadline of the answer. The ledger lists open holds that are past it, and never ends one by itself. */
  deadline: number;
  /** `refused` and `void` only remember ids: of a Hold that was refused, and of a Release or Settle before its Hold, which is then never granted. */
  state: 'open' | 'settled' | 'released' | 'refused' | 'void';
  charge: number;
  /** The fingerprint of the Settle, which tells a repeat from a Settle with other contents. */
  settledAs: number | null;
  refusal: Refusal | null;
  createdAt: number;
  endedAt: number | null;
}

/** An account of the ledger. `user` is the free balance of a user and `holds` the user's open holds. */
export type LedgerAccount = 'pool' | 'user' | 'holds' | 'spent' | 'outside';
export type TransferCode = 'purchase' | 'replenish' | 'fill' | 'return' | 'hold' | 'release' | 'charge';

export interface Transfer {
  /**
   * `<kind>:<id of the operation>:<code>`, or `turn:<user>:<month>:<code>` where a month starts. Unique in the tenant, since an operation
   * takes a route at most once and a user's month starts once.
   */
  id: string;
  code: TransferCode;
  from: LedgerAccount;
  to: LedgerAccount;
  /** Set if one of the two accounts is a user's. */
  userId: string | null;
  amount: number;
  at: number;
}

export type CreditSource = 'purchase' | 'auto_replenish';

interface EventFields {
  /** The operation's kind and id, the type, and the source if there is one: unique in the tenant. */
  id: string;
  at: number;
  balance: number;
}

export type CreditEvent =
  | (EventFields & { type: 'credits.low_balance'; threshold: number })
  | (EventFields & { type: 'credits.depleted' })
  | (EventFields & { type: 'credits.replenished'; amount: number; source: CreditSource });
