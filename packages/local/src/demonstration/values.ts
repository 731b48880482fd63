const dayMs = 86_400_000;

/** A date without a time, as YYYY-MM-DD. */
export type Day = string;

const dayOf = (time: Date): Day => time.toISOString().slice(0, 10);

export const plusDays = (day: Day, days: number): Day => dayOf(new Date(Date.parse(day) + days * dayMs));

export const daysBetween = (from: Day, to: Day): number => Math.round((Date.parse(to) - Date.parse(from)) / dayMs);

/** Monday is 1 and Sunday 7. */
export const weekday = (day: Day): number => new Date(day).getUTCDay() || 7;

type Value = string | number | boolean | null;
export type Row = Readonly<Record<string, Value>>;

export const euros = (cents: number): string => (cents / 100).toFixed(2);
export const cents = (row: Row, column: string): number => Math.round(Number(row[column]) * 100);
export const cyclic = <T>(from: readonly T[], index: number): T => from[index % from.length] as T;
export const emailName = (name: string) => name.toLowerCase().replaceAll(/[^a-z]+/g, '.');

/** Numbers that look random and are the same every time. */
export interface Random {
  /** A whole number from 0 up to, and not including, the limit. */
  below(limit: number): number;
  between(least: number, most: number): number;
  /** One of these; the first ones more often where weights are given. */
  pick<T>(from: readonly T[], weights?: readonly number[]): T;
  /** True so many times of a hundred. */
  chance(percent: number): boolean;
}

export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  const below = (limit: number) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
  return {
    below,
    between: (least, most) => least + below(most - least + 1),
    pick: (from, weights) => from[weights ? pickWeighted(weights, below) : below(from.length)] as (typeof from)[number],
    chance: (percent) => below(100) < percent,
  };
}

function pickWeighted(weights: readonly number[], below: (limit: number) => number): number {
  let left = below(weights.reduce((sum, weight) => sum + weight, 0));
  return weights.findIndex((weight) => (left -= weight) < 0);
}
