import type { Tenant } from '@agent-service/contracts/callers/principal';
import { type Month, monthOf } from './calendar.ts';

/** Credits in the pool of a new ledger. Those of the test environment cost nothing. */
export const openingCredits: Readonly<Record<Tenant['environment'], number>> = { live: 0, test: 100_000 };

/** The id of the grant that brings the opening credits. */
export const openingGrant = 'opening';

/** The largest monthly limit, hold, charge, threshold or replenishment: fits a PostgreSQL integer. */
const maxAmount = 2_000_000_000;

/** The largest single grant. A thousand of them stay below `maxIssued`. */
export const maxGrant = 1_000_000_000_000;

/** The limit on all credits that a tenant was ever issued. Every sum up to it is exact in a double. */
export const maxIssued = Number.MAX_SAFE_INTEGER;

export function isAmount(value: number, min = 0, max = maxAmount): boolean {
  return Number.isSafeInteger(value) && value >= min && value <= max;
}

/** Bounds the replenishments of one batch, so that no setting can issue credits without end. */
export const maxReplenishmentsPerBatch = 10;

export interface Settings {
  autoReplenish: boolean;
  replenishThreshold: number;
  replenishAmount: number;
  /** null: 10 % of the last purchase. */
  lowBalanceThreshold: number | null;
  defaultMonthlyLimit: number;
}

export const defaultSettings: Readonly<Settings> = Object.freeze({
  autoReplenish: false,
  replenishThreshold: 100,
  replenishAmount: 1000,
  lowBalanceThreshold: null,
  defaultMonthlyLimit: 500,
});

const settingRules: { [K in keyof Settings]: (value: Settings[K]) => boolean } = {
  autoReplenish: (value) => typeof value === 'boolean',
  replenishThreshold: (value) => isAmount(value),
  replenishAmount: (value) => isAmount(value, 1),
  lowBalanceThreshold: (value) => value === null || isAmount(value),
  defaultMonthlyLimit: (value) => isAmount(value),
};

/** True when every named change is within its bounds. */
export function areSettings(changes: Partial<Settings>): boolean {
  return (Object.keys(settingRules) as (keyof Settings)[]).every((key) => isInBounds(key, changes[key]));
}

function isInBounds<K extends keyof Settings>(key: K, value: Settings[K] | undefined): boolean {
  return value === undefined || settingRules[key](value);
}

/** The row of one tenant's ledger: the accounts that belong to no user, and the sum of those that belong to users. */
export interface Ledger {
  /** The unallocated credits. */
  pool: number;
  /** The sum of all users' balances and open holds. */
  allocated: number;
  spent: number;
  /** All credits that ever came from outside: the negated outside account. */
  issued: number;
  lastPurchase: number;
  settings: Settings;
  updatedAt: number;
}

/** One user's two accounts (free credits and open holds) and the rules that bound them. */
export interface UserAccount {
  userId: string;
  balance: number;
  /** The sum of the open holds. */
  onHold: number;
  monthlyLimit: number;
  /** Credits carried over from last month, on top of the limit. */
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
  return { pool: 0, allocated: 0, spent: 0, issued: 0, lastPurchase: 0, settings: { ...defaultSettings }, updatedAt: now };
}

export function newUser(userId: string, monthlyLimit: number, now: number): UserAccount {
  return {
    userId,
    balance: 0,
    onHold: 0,
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

/** The credits that new holds of the user may take, and the limit on the free balance. 0 if the limit was lowered below what is used or on hold. */
export function room(user: UserAccount): number {
  return Math.max(0, user.monthlyLimit + user.carried - user.used - user.onHold);
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
