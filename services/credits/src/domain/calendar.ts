/** A calendar month in UTC as a plain number, so that "next" is + 1 and "later" is >. */
export type Month = number;

export function monthOf(at: number): Month {
  const date = new Date(at);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** The month's first instant. */
export function startOfMonth(month: Month): number {
  return Date.UTC(Math.floor(month / 12), month % 12, 1);
}

/** "2026-01" */
export function monthLabel(month: Month): string {
  return new Date(startOfMonth(month)).toISOString().slice(0, 7);
}

/** The month that is billed at this instant; `end` is the next month's first instant. */
export function billingPeriod(now: number): { start: number; end: number } {
  const month = monthOf(now);
  return { start: startOfMonth(month), end: startOfMonth(month + 1) };
}

export const dayMs = 86_400_000;

/** A UTC day, "2026-01-05". As text it sorts by time and is what callers and rollups see. */
export type Day = string;

export function dayOf(at: number): Day {
  return new Date(at).toISOString().slice(0, 10);
}

/** The day's first instant. */
export function startOfDay(day: Day): number {
  return Date.parse(`${day}T00:00:00Z`);
}

export function addDays(day: Day, count: number): Day {
  return dayOf(startOfDay(day) + count * dayMs);
}

/** How many days the range has, both ends counted. */
export function daysIn(from: Day, to: Day): number {
  return (startOfDay(to) - startOfDay(from)) / dayMs + 1;
}

export function firstOfMonth(day: Day): Day {
  return `${day.slice(0, 7)}-01`;
}

export function lastOfMonth(day: Day): Day {
  return addDays(firstOfMonth(addDays(firstOfMonth(day), 31)), -1);
}

/** The Monday of the day's week. */
export function mondayOf(day: Day): Day {
  const daysSinceMonday = (new Date(startOfDay(day)).getUTCDay() + 6) % 7;
  return addDays(day, -daysSinceMonday);
}

/** "2026-W02": ISO 8601 counts a week in the year that its Thursday is in. */
export function weekLabel(day: Day): string {
  const thursday = addDays(mondayOf(day), 3);
  const year = thursday.slice(0, 4);
  const week = Math.ceil(daysIn(`${year}-01-01`, thursday) / 7);
  return `${year}-W${String(week).padStart(2, '0')}`;
}

export type Grain = 'day' | 'week' | 'month';

export interface Period {
  /** The first day. */
  date: Day;
  week?: string;
  month?: string;
}

/** The period of this grain that the day falls into. */
export function periodOf(day: Day, grain: Grain): Period {
  switch (grain) {
    case 'day':
      return { date: day };
    case 'week':
      return { date: mondayOf(day), week: weekLabel(day) };
    case 'month':
      return { date: firstOfMonth(day), month: day.slice(0, 7) };
  }
}
