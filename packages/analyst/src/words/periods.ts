import {
  type CalendarSpan,
  countOf,
  dateAt,
  endsOfRange,
  inOneYear,
  isYear,
  type NamedSpan,
  partOfYear,
  weekdayAt,
  weekdaysAt,
  yearPeriod,
} from './calendar.ts';
import {
  dayAfter,
  directions,
  type Grain,
  grainOf,
  grains,
  interval,
  type Named,
  type Period,
  shiftStart,
  start,
  type TimeGroup,
  tomorrow,
  whole,
} from './grains.ts';
import { besideSame, type SameSpan, sameSpanAt } from './same-spans.ts';
import { numberOf, type Word } from './words.ts';

export const today: Period = whole('today', 'day', 0);

export interface SpanInWords {
  /** Undefined for a span that depends on another span. */
  readonly period: CalendarSpan | undefined;
  readonly same?: SameSpan;
  readonly at: number;
  /** In words. */
  readonly length: number;
}

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
  const [first, second] = spans;
  if (spans.length === 2 && first?.period && second?.period) {
    const [a, b] = inOneYear(first.period, second.period);
    spans.splice(0, 2, { ...first, period: a }, { ...second, period: b });
  }
  return resolveSameSpans(spans, previous);
}

/** `the month before last`, and `the month before` after another month. */
function spanBefore(words: readonly Word[], at: number, last: Period | undefined): Named | undefined {
  const grain = grainOf(words[at]);
  if (!grain || !/^(before|earlier)$/.test(words[at + 1]?.lower ?? '')) return undefined;
  if (words[at + 2]?.lower === 'last') return { ...whole(`the ${grain} before last`, grain, -2), length: 3 };
  const before = last?.grain === grain ? previousOf(last) : undefined;
  return before && { ...before, length: 2 };
}

/** The whole span before another span; undefined where it has no unit. */
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
  for (const read of [soFar, boundedAt, ago, namedAt, relative, weekdayAt, weekdaysAt, partOfYear, yearAt]) {
    const period = read(words, at);
    if (period) return period;
  }
  return undefined;
}

/** `so far this year`, `this year so far`, `year to date`: up to and with today, also where rows are planned ahead. */
function soFar(words: readonly Word[], at: number): Named | undefined {
  const isStated = (from: number) => /^(so far|to date)$/.test(`${words[from]?.lower} ${words[from + 1]?.lower}`);
  const first = isStated(at) ? at + 2 : at;
  const isPresent = directions.get(words[first]?.lower ?? '') === 0;
  const last = isPresent ? first + 1 : first;
  const grain = grainOf(words[last]);
  const isNamed = isPresent || (isStated(last + 1) && !/^(by|per|each|every)$/.test(words[at - 1]?.lower ?? ''));
  if (grain && isNamed && (first > at || isStated(last + 1)))
    return { label: `this ${grain} so far`, from: start(grain), to: tomorrow, length: last + 1 - at + (first > at ? 0 : 2) };
  return first > at ? { label: 'up to today', from: undefined, to: tomorrow, length: 2 } : undefined;
}

function namedAt(words: readonly Word[], at: number): Named | undefined {
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

const maxGrains = 5_000;

/** last month, this year, next week; last 30 days, past 6 months, next 2 weeks */
function relative(words: readonly Word[], at: number): Named | undefined {
  const direction = directions.get(words[at]?.lower ?? '');
  if (direction === undefined) return undefined;
  const count = numberOf(words[at + 1]?.lower);
  const grain = grainOf(words[count === undefined ? at + 1 : at + 2]);
  if (!grain) return undefined;
  if (count === undefined)
    return (
      (direction === 0 && grain !== 'year' ? ofYearBefore(words, at, grain) : undefined) ?? {
        ...whole(`${words[at]?.lower} ${grain}`, grain, direction),
        length: 2,
      }
    );
  if (direction === 0 || !Number.isInteger(count) || count > maxGrains) return undefined;
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
export function inWhole(period: Period, grain: TimeGroup | undefined): Period {
  if (!grain || grain === 'weekday' || period.from === undefined || period.rolling === undefined || period.rolling === 'day') return period;
  return { ...period, from: `date_trunc('${grain}', ${period.from})::date` };
}

/** `in 2025`: other numbers only look like years. */
function yearAt(words: readonly Word[], at: number): Named | undefined {
  const word = words[at]?.lower ?? '';
  return isYear(word) && !endsRange(words, at) && beforeYear.has(words[at - 1]?.lower ?? '') ? yearPeriod(word) : undefined;
}

const beforeYear = new Set(['in', 'of', 'for', 'during', 'year', 'and', 'with', 'vs', 'versus', 'to', 'since', 'before', 'after']);

/** `between 1000 and 2000` ends in a number, which only looks like a year. */
const endsRange = (words: readonly Word[], at: number) =>
  ['between', 'from'].includes(words[at - 3]?.lower ?? '') && numberOf(words[at - 2]?.lower) !== undefined;

/** since 2026-01-01, before 3 March, on March 3rd, since last Monday, after two weeks ago, from March on; between January and March, from 2020 to 2022 */
function boundedAt(words: readonly Word[], at: number): Named | undefined {
  const word = words[at]?.lower ?? '';
  if (!/^(since|after|before|until|on|from|between)$/.test(word)) return undefined;
  const from = words[at + 1]?.lower === 'the' ? at + 2 : at + 1;
  const first = boundAt(words, from, word);
  const range = /^(from|between)$/.test(word) ? rangeAt(words, at, from) : undefined;
  const onward = first ? onwardAt(words, at, from + first.length) : 0;
  if (range || !first || !(onward > 0 || isBound(word, first))) return range;
  const length = from - at + first.length + onward;
  if (word === 'on') return { ...first, length };
  const [bound, isEnd] = [bounds.get(word) ?? word, /^(until|before)$/.test(word)];
  const common = { label: `${bound} ${first.label}`, length, ...(first.isBare && { isBare: first.isBare }) };
  if (isEnd) return { ...common, from: undefined, to: first.from };
  return { ...common, from: bound === 'after' ? first.to : first.from, to: undefined, ahead: first.ahead === true };
}

/** `orders from 3 March` may be those of that day. */
const isBound = (word: string, { grain, label, part }: NamedSpan): boolean =>
  /^(since|after|before)$/.test(word) || (grain === 'day' && /^\d.*(?<! ago)$/.test(label) && !(word === 'from' && part));

/** The words after `from March on`, and not `from March on the web`. */
function onwardAt(words: readonly Word[], from: number, at: number): number {
  if (words[from]?.lower !== 'from') return 0;
  const [word, next = ''] = [words[at]?.lower ?? '', words[at + 1]?.lower];
  return /^onwards?$/.test(word) || (word === 'on' && /^(by|per|in|for)?$/.test(next)) ? 1 : 0;
}

const bounds = new Map([
  ['until', 'before'],
  ['from', 'since'],
]);

/** A span beside a word that makes it the begin or the end of another span. */
const boundAt = (words: readonly Word[], at: number, before: string): NamedSpan | undefined =>
  dateAt(words, at) ??
  ago(words, at, true) ??
  weekdayAt(words, at, before !== 'on') ??
  namedAt(words, at) ??
  relative(words, at) ??
  partOfYear(words, at, true) ??
  yearAt(words, at);

/** Words with which two spans are compared, and words that make two numbers amounts although they look like years. */
const ofChange = /^(grow|grew|chang|increas|decreas|drop|rise|rose|fell|fall|declin|differ|compar|develop)/;
const ofNumbers = /^(total|amount|value|price|cost|salary|quantity|unit|limit|stock|level)$/;

/** With all of both ends: `between 2020 and 2022`, `from January to March this year`. */
function rangeAt(words: readonly Word[], at: number, from: number): Named | undefined {
  const named = endAt(words, from);
  const joint = from + (named?.length ?? 1);
  const to = words[joint + 1]?.lower === 'the' ? joint + 2 : joint + 1;
  const isJoined = (words[at]?.lower === 'from' ? /^(to|through)$/ : /^and$/).test(words[joint]?.lower ?? '');
  const last = isJoined ? endAt(words, to) : undefined;
  // `between 3 and 10 March`: the month of the second day is also that of the first one.
  const first = named ?? (last?.part && partOfYear([words[from] as Word, ...words.slice(to + 1)], 0, true));
  const isOther =
    words.some(({ lower }) => ofChange.test(lower)) || (isYear(first?.label ?? '') && ofNumbers.test(words[at - 1]?.stem ?? ''));
  if (!first || !last || first.grain !== last.grain || isOther) return undefined;
  const [begin, after] = endsOfRange(first, last);
  const isBare = first.isBare && last.isBare;
  return { label: `${first.label} to ${last.label}`, from: begin, to: after, length: to + last.length - at, ...(isBare && { isBare }) };
}

/** An end of a range; only a range has a year without a word such as `in` before it. */
function endAt(words: readonly Word[], at: number): NamedSpan | undefined {
  const year = words[at]?.lower ?? '';
  return dateAt(words, at) ?? partOfYear(words, at, true) ?? (isYear(year) ? yearPeriod(year) : undefined);
}

/** `two weeks ago` is that week, and a day beside `since`; `more than 5 years ago` limits a number of days. */
function ago(words: readonly Word[], at: number, isBound = false): Named | undefined {
  const count = countOf(words[at]?.lower ?? '');
  const grain = grainOf(words[at + 1]);
  const isLimit = /^(than|over|under|least|most|within)$/.test(words[at - 1]?.lower ?? '');
  if (count === undefined || !grain || words[at + 2]?.lower !== 'ago' || isLimit || !Number.isInteger(count) || count > maxGrains)
    return undefined;
  const label = `${count} ${grain}${count === 1 ? '' : 's'} ago`;
  if (!isBound && grain !== 'day') return { ...whole(`the ${grain} ${label}`, grain, -count), length: 3 };
  const day = `(current_date - ${interval(count, grain)})::date`;
  return { label, grain: 'day', from: day, to: dayAfter(day), length: 3 };
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
  // The 30th of a month is set beside the 30th, or the last day, of the one before, and its end is the day after.
  const to = `(current_date - ${interval(1, grain)} + interval '1 day')::date`;
  return { now, before: { label: `last ${grain} up to the same day`, from: shiftStart(grain, -1), to } };
}
