import { type Month, monthOf } from './month.ts';
import { DEFAULT_SETTINGS, type Settings } from './settings.ts';

/** What one tenant's ledger row holds: the accounts that are not a user's, and the sum of those that are. */
export interface Ledger {
  /** The unallocated credits. */
  pool: number;
  /** The sum of all users' balances and open holds. */
  allocated: number;
  spent: number;
  /** What ever came in from outside: the outside account with its sign turned. */
  issued: number;
  lastPurchase: number;
  settings: Settings;
  updatedAt: number;
}

/** One user's two accounts (free credits and open holds) and the rules that bound them. */
export interface UserAccount {
  userId: string;
  balance: number;
  held: number;
  monthlyLimit: number;
  /** What the last month left over, on top of the limit. */
  carried: number;
  /** Charges settled in `month`. */
  used: number;
  rollover: boolean;
  month: Month;
  effectiveFrom: number;
  updatedAt: number;
}

export interface OrganizationBalance extends Settings {
  balance: number;
  allocated: number;
  unallocated: number;
  updatedAt: number;
}

export interface UserBalance {
  userId: string;
  balance: number;
  monthlyLimit: number;
  usedThisMonth: number;
  rolloverEnabled: boolean;
  updatedAt: number;
}

export function newLedger(now: number): Ledger {
  return { pool: 0, allocated: 0, spent: 0, issued: 0, lastPurchase: 0, settings: { ...DEFAULT_SETTINGS }, updatedAt: now };
}

export function newUser(userId: string, monthlyLimit: number, now: number): UserAccount {
  return {
    userId,
    balance: 0,
    held: 0,
    monthlyLimit,
    carried: 0,
    used: 0,
    rollover: false,
    month: monthOf(now),
    effectiveFrom: now,
    updatedAt: now,
  };
}

export function totalBalance(ledger: Ledger): number {
  return ledger.pool + ledger.allocated;
}

/** What the user may still hold. Below zero where the limit was lowered under what is used or held already. */
export function spendable(user: UserAccount): number {
  return user.monthlyLimit + user.carried - user.used - user.held;
}

/** The most that the user's account may contain. */
export function room(user: UserAccount): number {
  return Math.max(0, spendable(user));
}

/** The balance below which the organization is warned. */
export function lowBalanceThreshold(ledger: Ledger): number {
  return ledger.settings.lowBalanceThreshold ?? Math.floor(ledger.lastPurchase / 10);
}

export function organizationBalance(ledger: Ledger): OrganizationBalance {
  return {
    ...ledger.settings,
    balance: totalBalance(ledger),
    allocated: ledger.allocated,
    unallocated: ledger.pool,
    updatedAt: ledger.updatedAt,
  };
}

export function userBalance(user: UserAccount): UserBalance {
  return {
    userId: user.userId,
    balance: user.balance,
    monthlyLimit: user.monthlyLimit,
    usedThisMonth: user.used,
    rolloverEnabled: user.rollover,
    updatedAt: user.updatedAt,
  };
}
