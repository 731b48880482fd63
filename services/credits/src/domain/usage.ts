import { type Day, dayOf, daysIn, firstOfMonth, type Grain, lastOfMonth, type Period, periodOf } from './calendar.ts';

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

const DAY_MS = 86_400_000;

/** Instants in milliseconds, `until` excluded. */
export interface Span {
  from: number;
  until: number;
}

export interface SplitRange {
  /** The days that lie wholly in the range, both ends included; null is open. Absent where there is none. */
  days?: { from: Day | null; to: Day | null };
  /** What is left at its two ends, each less than a day, or all of it where no day lies wholly in it. */
  edges: Span[];
}

/** Splits a range so that whole days can be taken from the rollups, and only the rest has to be counted. */
export function splitRange({ from, until }: Pick<RecordRange, 'from' | 'until'>): SplitRange {
  const begin = from === null ? null : Math.ceil(from / DAY_MS) * DAY_MS;
  const end = until === null ? null : Math.floor(until / DAY_MS) * DAY_MS;
  if (from !== null && until !== null && (begin as number) >= (end as number)) return { edges: [{ from, until }] };
  const edges: Span[] = [];
  if (from !== null && begin !== null && from < begin) edges.push({ from, until: begin });
  if (until !== null && end !== null && end < until) edges.push({ from: end, until });
  return { days: { from: begin === null ? null : dayOf(begin), to: end === null ? null : dayOf(end - 1) }, edges };
}

/** What a tier used up on a day. */
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
