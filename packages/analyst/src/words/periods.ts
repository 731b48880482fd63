import type { Word } from './words.ts';

/** With the number of the words that name it. */
type Named = Period & { readonly length: number };

const grains: readonly Grain[] = ['day', 'week', 'month', 'quarter', 'year'];

const months = ['january', 'february', 'march', 'april', 'may', 'june', 'july', 'august', 'september', 'october', 'november', 'december'];
const start = (grain: Grain) => (grain === 'day' ? 'current_date' : `date_trunc('${grain}', current_date)::date`);
const interval = (count: number, grain: Grain) =>
  grain === 'quarter' ? `interval '${count * 3} months'` : `interval '${count} ${grain}s'`;
const shifted = (grain: Grain, by: number) => {
  if (by === 0) return start(grain);
  return `(${start(grain)} ${by < 0 ? '-' : '+'} ${interval(Math.abs(by), grain)})::date`;
};
const whole = (label: string, grain: Grain, by: number): Period => ({
  label,
  grain,
  ahead: by > 0,
  from: shifted(grain, by),
  to: shifted(grain, by + 1),
});

export interface SpanInWords {
  /** Undefined for a span that depends on another one. */
  readonly period: Period | undefined;
  readonly same?: SameSpan;
  readonly at: number;
  /** In words. */
  readonly length: number;
}

export const today: Period = whole('today', 'day', 0);

/** Every span of time that the words name, in their order. */
export const periodsOf = (words: readonly Word[]): Period[] => spansIn(words).flatMap(({ period }) => period ?? []);

/** Every span of time and its place; `previous` is that of the question before. */
export function spansIn(words: readonly Word[], previous?: Period): SpanInWords[] {
  const spans: SpanInWords[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const same = sameSpanAt(words, at);
    const period = same ? undefined : (spanBefore(words, at, spans.at(-1)?.period) ?? periodAt(words, at));
    const length = Math.min(same?.length ?? period?.length ?? 0, words.length - at);
    if (length === 0) continue;
    spans.push({ period, at, length, ...(same ? { same } : {}) });
    at += length - 1;
  }
  return resolveSameSpans(spans, previous);
}

/** `the month before last`, and `the month before` after another month. */
function spanBefore(words: readonly Word[], at: number, last: Period | undefined): Named | undefined {
  const grain = grainOf(words[at]);
  if (!grain || !/^(before|earlier)$/.test(words[at + 1]?.lower ?? '')) return undefined;
  if (words[at + 2]?.lower === 'last') return { ...whole(`the ${grain} before last`, grain, -2), length: 3 };
  if (last?.grain !== grain || last.from === undefined) return undefined;
  return { label: `the ${grain} before`, grain, from: `(${last.from} - ${interval(1, grain)})::date`, to: last.from, length: 2 };
}

/** The whole span before another one; undefined where it has no unit. */
export const previousOf = ({ grain, from }: Period): Period | undefined =>
  grain && from !== undefined
    ? { label: `the ${grain} before`, grain, from: `(${from} - ${interval(1, grain)})::date`, to: from }
    : undefined;

/** `the same month last year` depends on the span before it, or else on the one after it; `last month last year` is no span. */
function resolveSameSpans(spans: readonly SpanInWords[], previous: Period | undefined): SpanInWords[] {
  const all = [...spans];
  for (const [index, { same, period, at }] of spans.entries()) {
    const before = spans[index - 1];
    if (period?.grain === 'year' && before?.period?.grain && before.at + before.length === at)
      all[index] = { ...(spans[index] as SpanInWords), period: undefined };
    const other = index > 0 ? index - 1 : index + 1;
    const named = spans[other];
    const now = named ? named.period : previous;
    const beside = same && now && besideSame(same, now);
    if (!beside) continue;
    all[index] = { ...(spans[index] as SpanInWords), period: { ...beside.before, repeats: true } };
    if (named) all[other] = { ...named, period: beside.now };
  }
  return all;
}

function periodAt(words: readonly Word[], at: number): Named | undefined {
  return soFar(words, at) ?? bounded(words, at) ?? named(words, at) ?? relative(words, at) ?? calendar(words, at);
}

const tomorrow = "(current_date + interval '1 day')::date";

/** `so far this year`, `this year so far`, `year to date`: up to and with today, also where rows are planned ahead. */
function soFar(words: readonly Word[], at: number): Named | undefined {
  const isSaid = (from: number) => /^(so far|to date)$/.test(`${words[from]?.lower} ${words[from + 1]?.lower}`);
  const first = isSaid(at) ? at + 2 : at;
  const isPresent = directions.get(words[first]?.lower ?? '') === 0;
  const last = isPresent ? first + 1 : first;
  const grain = grainOf(words[last]);
  const isNamed = isPresent || (isSaid(last + 1) && !/^(by|per|each|every)$/.test(words[at - 1]?.lower ?? ''));
  if (grain && isNamed && (first > at || isSaid(last + 1)))
    return { label: `this ${grain} so far`, from: start(grain), to: tomorrow, length: last + 1 - at + (first > at ? 0 : 2) };
  return first > at ? { label: 'up to today', from: undefined, to: tomorrow, length: 2 } : undefined;
}

function named(words: readonly Word[], at: number): Named | undefined {
  switch (words[at]?.lower) {
    case 'today':
      return { ...today, length: 1 };
    case 'yesterday':
      return { ...whole('yesterday', 'day', -1), length: 1 };
    case 'tomorrow':
      return { ...whole('tomorrow', 'day', 1), length: 1 };
    case 'ytd':
      return { label: 'this year so far', from: start('year'), to: tomorrow, length: 1 };
    default:
      return undefined;
  }
}

const directions = new Map(Object.entries({ this: 0, current: 0, last: -1, previous: -1, past: -1, next: 1, coming: 1, upcoming: 1 }));
const mostGrains = 5_000;

/** last month, this year, next week; last 30 days, past 6 months, next 2 weeks */
function relative(words: readonly Word[], at: number): Named | undefined {
  const direction = directions.get(words[at]?.lower ?? '');
  if (direction === undefined) return undefined;
  const count = numberOf(words[at + 1]?.lower);
  const grain = grainOf(words[count === undefined ? at + 1 : at + 2]);
  if (!grain) return undefined;
  if (count === undefined)
    return (
      (direction === 0 ? ofYearBefore(words, at, grain) : undefined) ?? {
        ...whole(`${words[at]?.lower} ${grain}`, grain, direction),
        length: 2,
      }
    );
  if (direction === 0 || !Number.isInteger(count) || count > mostGrains) return undefined;
  const label = `${words[at]?.lower} ${count} ${grain}${count === 1 ? '' : 's'}`;
  // Up to and with today, or from tomorrow on.
  if (direction < 0)
    return {
      label,
      length: 3,
      rolling: grain,
      from: `(current_date - ${interval(count, grain)} + interval '1 day')::date`,
      to: tomorrow,
    };
  return {
    label,
    length: 3,
    ahead: true,
    from: tomorrow,
    to: `(current_date + ${interval(count, grain)} + interval '1 day')::date`,
  };
}

/** this month last year, this quarter of last year */
function ofYearBefore(words: readonly Word[], at: number, grain: Grain): Named | undefined {
  const from = /^(of|in)$/.test(words[at + 2]?.lower ?? '') ? at + 3 : at + 2;
  const isYearBefore = /^(last|previous)$/.test(words[from]?.lower ?? '') && words[from + 1]?.lower === 'year';
  const before = isYearBefore ? besideSame({ noun: grain, back: 'year', length: 0 }, whole('', grain, 0))?.before : undefined;
  return before && { ...before, label: `this ${grain} last year`, grain, length: from + 2 - at };
}

/** Rows in weeks or months begin with a whole one, if the question names no day. */
export function inWhole(period: Period, grain: Grain | undefined): Period {
  if (!grain || period.from === undefined || period.rolling === undefined || period.rolling === 'day') return period;
  return { ...period, from: `date_trunc('${grain}', ${period.from})::date` };
}

export const grainOf = (word: Word | undefined): Grain | undefined =>
  grains.find((grain) => grain === word?.stem || `${grain}ly` === word?.lower || (grain === 'day' && word?.lower === 'daily'));

const small = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'];

/** Larger numbers are not counts. */
const largest = 1e15;

export function numberOf(word: string | undefined): number | undefined {
  if (word === undefined) return undefined;
  if (/^(\d{1,3}(,\d{3})*(\.\d+)?|\d+(\.\d+)?)[km]?$/.test(word)) {
    const number = Number(word.replaceAll(/[,km]/g, '')) * (word.endsWith('k') ? 1e3 : word.endsWith('m') ? 1e6 : 1);
    return number < largest ? number : undefined;
  }
  const index = small.indexOf(word);
  return index < 0 ? undefined : index + 1;
}

/** in March, in March 2026, in March last year, in Q2, in 2025; a month without a year is the last one that has begun. */
function calendar(words: readonly Word[], at: number): Named | undefined {
  const word = words[at]?.lower ?? '';
  const before = words[at - 1]?.lower ?? '';
  const quarter = Number(/^q([1-4])$/.exec(word)?.[1] ?? 0);
  if (quarter > 0) return monthsPeriod({ label: `Q${quarter}`, first: quarter * 3 - 2, count: 3 }, words.slice(at + 1, at + 3));
  const month = months.indexOf(word) + 1;
  if (month > 0 && (word !== 'may' || ['in', 'of', 'for', 'and', 'since', 'before', 'after'].includes(before))) {
    const name = months[month - 1] as string;
    return monthsPeriod({ label: `${name[0]?.toUpperCase()}${name.slice(1)}`, first: month, count: 1 }, words.slice(at + 1, at + 3));
  }
  if (!isYear(word) || endsRange(words, at) || !beforeYear.has(before)) return undefined;
  return yearPeriod(word);
}

const beforeYear = new Set(['in', 'of', 'for', 'during', 'year', 'and', 'with', 'vs', 'versus', 'to', 'since', 'before', 'after']);

const yearPeriod = (word: string): Named => ({
  label: word,
  from: `date '${word}-01-01'`,
  to: `date '${Number(word) + 1}-01-01'`,
  length: 1,
  grain: 'year',
});

/** `between 1000 and 2000` ends in a number, which only looks like a year. */
const endsRange = (words: readonly Word[], at: number) =>
  ['between', 'from'].includes(words[at - 3]?.lower ?? '') && numberOf(words[at - 2]?.lower) !== undefined;

const isYear = (word: string) => /^(19|20)\d{2}$/.test(word);

/** The months of the year that follows in the words, else of the last year in which they have begun. */
function monthsPeriod({ label, first, count }: { label: string; first: number; count: number }, following: readonly Word[]): Named {
  const [year, grain] = [following[0]?.lower ?? '', following[1]?.lower];
  const ends = (from: string) => `(${from} + interval '${count} month${count === 1 ? '' : 's'}')::date`;
  const named = (from: string, name: string, length: number): Named => ({
    label: name,
    from,
    to: ends(from),
    length,
    grain: count === 1 ? 'month' : 'quarter',
  });
  if (isYear(year)) return named(`date '${year}-${String(first).padStart(2, '0')}-01'`, `${label} ${year}`, 2);
  const direction = grain === 'year' ? directions.get(year) : undefined;
  if (direction !== undefined)
    return named(`(${shifted('year', direction)} + interval '${first - 1} months')::date`, `${label} ${year} year`, 3);
  const back = `(extract(month from current_date)::int - ${first} + 12) % 12`;
  return named(`(date_trunc('month', current_date) - interval '1 month' * (${back}))::date`, label, 1);
}

/** A day that there is, after the first years, which PostgreSQL counts differently. */
function isDate(word: Word | undefined): boolean {
  const text = word?.lower ?? '';
  if (!/^[1-9]\d{3}-\d{2}-\d{2}$/.test(text) || Number.isNaN(Date.parse(text))) return false;
  return new Date(text).toISOString().startsWith(text);
}

/** since 2026-01-01, before 2026-01-01, between 2026-01-01 and 2026-01-31, on 2026-01-01; since March, before 2020 */
function bounded(words: readonly Word[], at: number): Named | undefined {
  const [word, first, second] = [words[at]?.lower ?? '', words[at + 1], words[at + 3]];
  if (!isDate(first)) return betweenYears(words, at) ?? besideSpan(words, at);
  const day = `date '${first?.lower}'`;
  const after = (date: string) => `(${date} + interval '1 day')::date`;
  if (['between', 'from'].includes(word) && isDate(second))
    return { label: `${first?.lower} to ${second?.lower}`, from: day, to: after(`date '${second?.lower}'`), length: 4 };
  if (['since', 'from'].includes(word)) return { label: `since ${first?.lower}`, from: day, to: undefined, length: 2 };
  if (word === 'after') return { label: `after ${first?.lower}`, from: after(day), to: undefined, length: 2 };
  if (['before', 'until'].includes(word)) return { label: `before ${first?.lower}`, from: undefined, to: day, length: 2 };
  return word === 'on' ? { label: `${first?.lower}`, grain: 'day', from: day, to: after(day), length: 2 } : undefined;
}

/** From the first day of a span on, from the day after its last one on, or up to its first day. */
function besideSpan(words: readonly Word[], at: number): Named | undefined {
  const word = words[at]?.lower ?? '';
  if (!['since', 'after', 'before'].includes(word)) return undefined;
  const period = named(words, at + 1) ?? relative(words, at + 1) ?? calendar(words, at + 1);
  if (!period) return undefined;
  const common = { label: `${word} ${period.label}`, length: period.length + 1 };
  if (word === 'before') return { ...common, from: undefined, to: period.from };
  return { ...common, ahead: period.ahead === true, from: word === 'since' ? period.from : period.to, to: undefined };
}

/** Words that make two numbers amounts although they look like years. */
const ofNumbers = /^(total|amount|value|price|cost|salary|quantity|unit|limit|stock|level)$/;

/** between 2020 and 2022, from 2020 to 2022: with all of both years */
function betweenYears(words: readonly Word[], at: number): Named | undefined {
  const [word, first, joint, last] = [0, 1, 2, 3].map((offset) => words[at + offset]?.lower ?? '') as [string, string, string, string];
  const joins = (word === 'between' && joint === 'and') || (word === 'from' && joint === 'to');
  if (!joins || !isYear(first) || !isYear(last) || ofNumbers.test(words[at - 1]?.stem ?? '')) return undefined;
  return { label: `${first} to ${last}`, from: `date '${first}-01-01'`, to: `date '${Number(last) + 1}-01-01'`, length: 4 };
}

/**
 * The two periods that growth compares: the present one so far, against as many days of the one before it. Spans that are over are whole ones;
 * undefined for spans that have no such neighbour.
 */
export function lastToTheSameDay(period: Period | undefined): { now: Period; before: Period } | undefined {
  const grain =
    period === undefined
      ? 'year'
      : grains.find((one) => new RegExp(`^(this|current|last|previous|past) ${one}( so far)?$`).test(period.label));
  if (!grain || grain === 'day') return undefined;
  const now = { label: `this ${grain} so far`, from: start(grain), to: tomorrow };
  const to = `(current_date + interval '1 day' - ${interval(1, grain)})::date`;
  return { now, before: { label: `last ${grain} up to the same day`, from: shifted(grain, -1), to } };
}

export type Grain = 'day' | 'week' | 'month' | 'quarter' | 'year';

/** A span of days in SQL: from the first day up to, and not including, the second. */
export interface Period {
  readonly label: string;
  readonly from: string | undefined;
  readonly to: string | undefined;
  /** It was made from two spans. */
  readonly joined?: true;
  /** The unit, where the period is exactly one. */
  readonly grain?: Grain;
  /** The unit, where the period is the last N units. */
  readonly rolling?: Grain;
  /** It is another span, so many weeks, months or years before. */
  readonly repeats?: true;
  /** It begins after today. */
  readonly ahead?: boolean;
}

/** `the same month last year`: a span of the words, so many weeks, months or years before. */
interface SameSpan {
  /** The repeated unit; a `period` ends at the same day as the present one. */
  readonly noun: Grain | 'period';
  readonly back: Exclude<Grain, 'day'>;
  /** In words. */
  readonly length: number;
}

const period = 'period|periods|time|point|span|timeframe|dates|days|weeks|months|quarters';
const grain = 'week|month|quarter|year';
const yearsBefore = `(?:(?:of|in|from|for|during|at) )?(?:the |a |one )?(?:(?:last|previous|prior|preceding|past) (?<last>${grain})|(?<ago>${grain}) (?:before|ago|earlier|prior))`;
const same = new RegExp(`^(?:same (?<noun>day|week|month|quarter|${period})|this (?<this>time|point)) ${yearsBefore}(?= |$)`);
const longest = 8;

function sameSpanAt(words: readonly Word[], at: number): SameSpan | undefined {
  const match = same.exec(
    words
      .slice(at, at + longest)
      .map(({ lower }) => lower)
      .join(' '),
  );
  const { noun, last, ago } = match?.groups ?? {};
  const back = last ?? ago;
  if (!match || !back) return undefined;
  const known = /^(day|week|month|quarter)$/.test(noun ?? '') ? (noun as Grain) : 'period';
  return { noun: known, back: back as SameSpan['back'], length: match[0].split(' ').length };
}

interface Beside {
  readonly now: Period;
  readonly before: Period;
}

/** Both spans of a comparison with the same one before; undefined where there is no such span. */
function besideSame({ noun, back }: SameSpan, now: Period): Beside | undefined {
  const { from, to } = now;
  if (from === undefined || (to === undefined && noun !== 'period')) return undefined;
  if (noun === 'period') return toTheSameDay(now, from, back);
  if (now.grain !== noun || (back !== 'year' && noun !== 'day')) return undefined;
  if (noun === 'week') return { now, before: { label: 'the same week of the year before', ...weekOfYearBefore(from) } };
  const shifted = (day: string) => earlier(day, back);
  return { now, before: { label: `the same ${noun} a ${back} before`, from: shifted(from), to: to && shifted(to) } };
}

const lengths = { week: "interval '7 days'", month: "interval '1 months'", quarter: "interval '3 months'", year: "interval '1 years'" };
const earlier = (day: string, back: SameSpan['back']) => `(${day} - ${lengths[back]})::date`;

/** The span so far; one that is over, or has not begun, is a whole one. */
function toTheSameDay({ label, to }: Period, from: string, back: SameSpan['back']): Beside {
  const runs = `current_date >= ${from}${to === undefined ? '' : ` and current_date < ${to}`}`;
  const dayBefore = `(current_date - ${lengths[back]} + interval '1 day')::date`;
  const [end, endBefore] = [to ?? tomorrow, earlier(to ?? tomorrow, back)];
  const isRunning = /^(this|current|since) /.test(label);
  return {
    now: {
      label: isRunning ? `${label.replace(/ so far$/, '')} so far` : label,
      from,
      to: `(case when ${runs} then ${tomorrow} else ${end} end)`,
    },
    before: {
      label: `the same days a ${back} before`,
      from: earlier(from, back),
      to: `(case when ${runs} then ${dayBefore} else ${endBefore} end)`,
    },
  };
}

/** The week of the same number; the 53rd is followed by the first one. */
function weekOfYearBefore(monday: string): { from: string; to: string } {
  const first = `date_trunc('week', make_date(extract(isoyear from ${monday})::int - 1, 1, 4))`;
  const from = `(${first} + interval '7 days' * (extract(week from ${monday})::int - 1))::date`;
  return { from, to: `(${from} + interval '7 days')::date` };
}
