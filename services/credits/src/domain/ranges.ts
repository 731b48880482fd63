import { type Day, dayOf, daysIn, firstOfMonth, lastOfMonth } from './periods.ts';

/** A fault in a caller's bound, to be told in these words. */
export interface RangeFault {
  ok: false;
  param: 'date_from' | 'date_to';
  message: string;
}

/** Instants in milliseconds, `until` excluded; null is open. */
export interface RecordRange {
  ok: true;
  from: number | null;
  until: number | null;
}

/** Whole days, both included. */
export interface DayRange {
  ok: true;
  from: Day;
  to: Day;
}

/** The bounds as the caller gave them; undefined: not given. */
export interface Bounds {
  dateFrom?: string | undefined;
  dateTo?: string | undefined;
}

const MAX_DAYS = 366;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const TIME = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?$/;

/** The range of a list of records. A date as `date_to` includes that day, a time includes its millisecond. */
export function recordRange({ dateFrom, dateTo }: Bounds): RecordRange | RangeFault {
  const from = dateFrom === undefined ? null : parse(dateFrom);
  const to = dateTo === undefined ? null : parse(dateTo);
  if (from === undefined) return malformed('date_from');
  if (to === undefined) return malformed('date_to');
  if (from !== null && to !== null && from.start >= to.end) return fault('date_from', 'date_from is after date_to');
  return { ok: true, from: from?.start ?? null, until: to?.end ?? null };
}

/** The days of an aggregate: the current month unless said otherwise, and a year at most. */
export function dayRange(bounds: Bounds, now: number): DayRange | RangeFault {
  const exact = recordRange(bounds);
  if (!exact.ok) return exact;
  const { from, to } = days(exact, dayOf(now));
  if (from > to) return fault('date_from', 'date_from is after date_to, which is today where it is not given');
  if (daysIn(from, to) > MAX_DAYS) return fault('date_from', `the range covers more than ${MAX_DAYS} days; ask for less at once`);
  return { ok: true, from, to };
}

function days(exact: RecordRange, today: Day): { from: Day; to: Day } {
  if (exact.until !== null) {
    const to = dayOf(exact.until - 1);
    return { from: exact.from === null ? firstOfMonth(to) : dayOf(exact.from), to };
  }
  return exact.from === null ? { from: firstOfMonth(today), to: lastOfMonth(today) } : { from: dayOf(exact.from), to: today };
}

/** The instants that a bound spans, end excluded; undefined where it is no date. A time without a zone is UTC. */
function parse(text: string): { start: number; end: number } | undefined {
  if (DATE.test(text)) {
    const start = instant(text, `${text}T00:00:00Z`);
    return start === undefined ? undefined : { start, end: start + 86_400_000 };
  }
  const [, date, , , zone] = TIME.exec(text) ?? [];
  const start = date === undefined ? undefined : instant(date, zone === undefined ? `${text}Z` : text);
  return start === undefined ? undefined : { start, end: start + 1 };
}

/** JavaScript rolls 30 February over into March; a caller who writes it made a mistake. */
function instant(date: string, text: string): number | undefined {
  const midnight = Date.parse(`${date}T00:00:00Z`);
  const at = Date.parse(text);
  return Number.isNaN(at) || Number.isNaN(midnight) || dayOf(midnight) !== date ? undefined : at;
}

function malformed(param: RangeFault['param']): RangeFault {
  return fault(param, `${param} must be an ISO 8601 date or time, for example 2026-01-31 or 2026-01-31T09:30:00Z`);
}

function fault(param: RangeFault['param'], message: string): RangeFault {
  return { ok: false, param, message };
}
