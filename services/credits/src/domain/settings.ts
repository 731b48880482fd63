import { isAmount } from './amounts.ts';

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
