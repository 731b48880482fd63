import type { Ledger, UserAccount } from './accounts.ts';
import type { Refusal, Result, Usage } from './operations.ts';

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

/**
 * `refused` and `void` hold no credits. They remember an id: `refused` a Hold that was turned down, `void` a Release or
 * Settle that came before its Hold, which then is never granted.
 */
export type HoldState = 'open' | 'settled' | 'released' | 'refused' | 'void';

export interface Hold {
  id: string;
  /** Empty where the hold was ended before it was asked for. */
  userId: string;
  amount: number;
  /** When the answer must be there. The ledger lists what is past it and ends nothing by itself. */
  deadline: number;
  state: HoldState;
  charge: number;
  /** What the hold was settled with, so that a repeat with other contents is told from a repeat. */
  settledAs: number | null;
  refusal: Refusal | null;
  createdAt: number;
  endedAt: number | null;
}

export type Place = 'pool' | 'user' | 'holds' | 'spent' | 'outside';
export type TransferCode = 'purchase' | 'replenish' | 'fill' | 'return' | 'hold' | 'release' | 'charge';

export interface Transfer {
  /** `<kind>:<id of the operation>:<code>`: unique in the tenant, since an operation takes a route at most once. */
  id: string;
  code: TransferCode;
  from: Place;
  to: Place;
  /** Set where either end is a user's account. */
  userId: string | null;
  amount: number;
  at: number;
}

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
