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
