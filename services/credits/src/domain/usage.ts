import { type Day, dayMs, dayOf, daysIn, firstOfMonth, type Grain, lastOfMonth, type Period, periodOf } from './calendar.ts';

/** A bound that is not valid, with the message for the caller. */
export interface RangeFault {
  ok: false;
  param: 'date_from' | 'date_to';
  message: string;
}

/** Times in milliseconds, `before` excluded; null is unbounded. */
export interface RecordRange {
  ok: true;
  from: number | null;
  before: number | null;
}

/** Whole days, both included. */
export interface DayRange {
  ok: true;
  from: Day;
  to: Day;
}

/** The bounds of a request. */
export interface Bounds {
  dateFrom?: string | undefined;
  dateTo?: string | undefined;
}

const maxDays = 366;
const datePattern = /^\d{4}-\d{2}-\d{2}$/;
const timePattern = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?$/;

/** The range of a list of records. `date_to` is inclusive: of its day if it is a date, of its millisecond if it is a time. */
export function recordRange({ dateFrom, dateTo }: Bounds): RecordRange | RangeFault {
  const from = dateFrom === undefined ? null : parse(dateFrom);
  const to = dateTo === undefined ? null : parse(dateTo);
  if (from === undefined) return malformed('date_from');
  if (to === undefined) return malformed('date_to');
  if (from !== null && to !== null && from.start >= to.end) return fault('date_from', 'date_from is after date_to');
  return { ok: true, from: from?.start ?? null, before: to?.end ?? null };
}

/** The days of an aggregate: by default the current month, and at most a year. */
export function dayRange(bounds: Bounds, now: number): DayRange | RangeFault {
  const exact = recordRange(bounds);
  if (!exact.ok) return exact;
  const { from, to } = days(exact, dayOf(now));
  if (from > to) return fault('date_from', 'date_from is after date_to, which is today where it is not given');
  if (daysIn(from, to) > maxDays) return fault('date_from', `The range covers more than ${maxDays} days. Ask for fewer at once.`);
  return { ok: true, from, to };
}

function days(exact: RecordRange, today: Day): { from: Day; to: Day } {
  if (exact.before !== null) {
    const to = dayOf(exact.before - 1);
    return { from: exact.from === null ? firstOfMonth(to) : dayOf(exact.from), to };
  }
  return exact.from === null ? { from: firstOfMonth(today), to: lastOfMonth(today) } : { from: dayOf(exact.from), to: today };
}

/** The times of a bound, `end` excluded; undefined if it is not a date or time. A time without a zone is UTC. */
function parse(text: string): { start: number; end: number } | undefined {
  if (datePattern.test(text)) {
    const start = instant(text, `${text}T00:00:00Z`);
    return start === undefined ? undefined : { start, end: start + dayMs };
  }
  const [, date, , , zone] = timePattern.exec(text) ?? [];
  const start = date === undefined ? undefined : instant(date, zone === undefined ? `${text}Z` : text);
  return start === undefined ? undefined : { start, end: start + 1 };
}

/** The time of the text; undefined for a date such as 30 February, which JavaScript takes for one in March. */
function instant(date: string, text: string): number | undefined {
  const midnight = Date.parse(`${date}T00:00:00Z`);
  const at = Date.parse(text);
  return Number.isNaN(at) || dayOf(midnight) !== date ? undefined : at;
}

function malformed(param: RangeFault['param']): RangeFault {
  return fault(param, `${param} must be an ISO 8601 date or time, for example 2026-01-31 or 2026-01-31T09:30:00Z`);
}

function fault(param: RangeFault['param'], message: string): RangeFault {
  return { ok: false, param, message };
}

/** Times in milliseconds, `before` excluded. */
export interface Span {
  from: number;
  before: number;
}

export interface SplitRange {
  /** The whole days of the range, both ends included; null is unbounded. Undefined if there is none. */
  days?: { from: Day | null; to: Day | null };
  /** The rest of the range, less than a day at each end; all of it if it has no whole day. */
  edges: Span[];
}

/** Splits a range into whole days, which rollups count, and the rest, whose records have to be counted. */
export function splitRange({ from, before }: Pick<RecordRange, 'from' | 'before'>): SplitRange {
  const begin = from === null ? null : Math.ceil(from / dayMs) * dayMs;
  const end = before === null ? null : Math.floor(before / dayMs) * dayMs;
  if (from !== null && before !== null && (begin as number) >= (end as number)) return { edges: [{ from, before }] };
  const edges: Span[] = [];
  if (from !== null && begin !== null && from < begin) edges.push({ from, before: begin });
  if (before !== null && end !== null && end < before) edges.push({ from: end, before });
  return { days: { from: begin === null ? null : dayOf(begin), to: end === null ? null : dayOf(end - 1) }, edges };
}

/** The usage of one tier on one day. */
export interface TierDay {
  day: Day;
  tier: string;
  credits: number;
  queries: number;
}

export interface PeriodUsage {
  period: Period;
  credits: number;
  queries: number;
  /** Credits by tier. */
  breakdown: Record<string, number>;
}

/** The periods that have usage, earliest first. */
export function usageByPeriod(days: readonly TierDay[], grain: Grain): PeriodUsage[] {
  const periods = new Map<Day, PeriodUsage>();
  for (const { day, tier, credits, queries } of days) {
    const period = periodOf(day, grain);
    const usage = periods.get(period.date) ?? { period, credits: 0, queries: 0, breakdown: {} };
    periods.set(period.date, usage);
    usage.credits += credits;
    usage.queries += queries;
    usage.breakdown[tier] = (usage.breakdown[tier] ?? 0) + credits;
  }
  return [...periods.values()].sort((a, b) => (a.period.date < b.period.date ? -1 : 1));
}
