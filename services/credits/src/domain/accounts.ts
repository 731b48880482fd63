import { type Month, monthOf } from './calendar.ts';

/** Whose books they are: everything but the users belongs to one environment of one organization. */
export interface Tenant {
  readonly organizationId: string;
  readonly environment: 'live' | 'test';
}

/** What maps in memory go by. */
export const nameOf = ({ organizationId, environment }: Tenant): string => `${organizationId} ${environment}`;

/** What a tenant's pool holds when its ledger is opened: play money to try things with, and nothing of worth. */
export const OPENING_CREDITS: Readonly<Record<Tenant['environment'], number>> = { live: 0, test: 100_000 };

/** The id of the grant that brings the opening credits. */
export const OPENING_GRANT = 'opening';

/** The largest monthly limit, hold, charge, threshold or replenishment: fits a PostgreSQL integer. */
export const MAX_AMOUNT = 2_000_000_000;

/** The largest single grant; what a tenant was ever issued stays exact in a double beyond a thousand of them. */
export const MAX_GRANT = 1_000_000_000_000;

/** The most a tenant can ever have been issued. No balance exceeds it, so every sum below it is exact. */
export const MAX_ISSUED = Number.MAX_SAFE_INTEGER;

export function isAmount(value: number, least = 0, most = MAX_AMOUNT): boolean {
  return Number.isSafeInteger(value) && value >= least && value <= most;
}

/** How often a batch replenishes a tenant at most, so that no setting can issue credits without end. */
export const REPLENISHMENTS_A_BATCH = 10;

export interface Settings {
  autoReplenish: boolean;
  replenishThreshold: number;
  replenishAmount: number;
  /** null: 10 % of the last purchase. */
  lowBalanceThreshold: number | null;
  defaultMonthlyLimit: number;
}

export const DEFAULT_SETTINGS: Readonly<Settings> = Object.freeze({
  autoReplenish: false,
  replenishThreshold: 100,
  replenishAmount: 1000,
  lowBalanceThreshold: null,
  defaultMonthlyLimit: 500,
});

const RULES: { [K in keyof Settings]: (value: Settings[K]) => boolean } = {
  autoReplenish: (value) => typeof value === 'boolean',
  replenishThreshold: (value) => isAmount(value),
  replenishAmount: (value) => isAmount(value, 1),
  lowBalanceThreshold: (value) => value === null || isAmount(value),
  defaultMonthlyLimit: (value) => isAmount(value),
};

/** True when every named change is within its bounds. */
export function areSettings(changes: Partial<Settings>): boolean {
  return isValid(changes, 'autoReplenish', 'replenishThreshold', 'replenishAmount', 'lowBalanceThreshold', 'defaultMonthlyLimit');
}

function isValid(changes: Partial<Settings>, ...keys: (keyof Settings)[]): boolean {
  return keys.every((key) => holds(key, changes[key]));
}

function holds<K extends keyof Settings>(key: K, value: Settings[K] | undefined): boolean {
  return value === undefined || RULES[key](value);
}

/** The settings with what is named changed. A decoded request may carry absent fields as undefined: they change nothing. */
export function withChanges(settings: Settings, changes: Partial<Settings>): Settings {
  const named = Object.entries(changes).filter(([, value]) => value !== undefined);
  return { ...settings, ...Object.fromEntries(named) };
}

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
