import { dayAfter, directions, type Named, type Period, shiftStart, start } from './grains.ts';
import { numberOf, type Word } from './words.ts';

const months = ['january', 'february', 'march', 'april', 'may', 'june', 'july', 'august', 'september', 'october', 'november', 'december'];
const ordinals = ['first', 'second', 'third', 'fourth'];
const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

const capital = (word: string) => `${word[0]?.toUpperCase() ?? ''}${word.slice(1)}`;
const lowerAt = (words: readonly Word[], at: number): string => words[at]?.lower ?? '';

/** Some months of a year, or a day of one of them. */
interface PartOfYear {
  readonly label: string;
  /** The first month. */
  readonly first: number;
  readonly months: number;
  readonly day?: number;
  readonly length: number;
  /** It may also be a month and a number, or a number and a month. */
  readonly isLoose?: boolean;
}

interface Year {
  readonly label: string;
  readonly from: string;
  readonly length: number;
  readonly ahead: boolean;
}

/** A span of the calendar; a part of a year is resolved again where another year is meant. */
export interface CalendarSpan extends Period {
  readonly part?: PartOfYear;
  readonly year?: Year | undefined;
}

/** With the number of the words that name it. */
export type NamedSpan = CalendarSpan & Named;

export const isYear = (word: string) => /^(19|20)\d{2}$/.test(word);

/** `the first half of 2025`, `Q2`, `March last year`, `3 March 2026`, `March 3rd`; without a year the last one that has begun. */
export function partOfYear(words: readonly Word[], at: number, isBound = false): NamedSpan | undefined {
  for (const part of [dayPart(words, at), monthsPart(words, at)]) {
    const year = part && yearAfter(words, at + part.length);
    const isOfOther = part?.label.includes(' ') && !year && lowerAt(words, at + part.length) === 'of';
    const isLoose = part?.isLoose && !isBound && !(year && isYear(year.label));
    if (part && !isOfOther && !isLoose && isDay(part, year))
      return { ...spanOfPart(part, year), length: part.length + (year?.length ?? 0) };
  }
  return undefined;
}

const beforeMay = /^(in|of|for|and|since|before|after|on|until|from|between|to)$/;

function monthsPart(words: readonly Word[], at: number): PartOfYear | undefined {
  const [word, next] = [lowerAt(words, at), lowerAt(words, at + 1)];
  const [, letter, number] = /^(q[1-4]|h[12])$/.test(word) ? [word, word[0], Number(word[1])] : [];
  const size = letter === 'q' ? 3 : 6;
  if (number) return { label: word.toUpperCase(), first: (number - 1) * size + 1, months: size, length: 1 };
  const count = { quarter: 3, half: 6 }[next];
  const index = ordinals.findIndex((ordinal, one) => ordinal === word || new RegExp(`^${one + 1}(st|nd|rd|th)$`).test(word));
  if (count && index >= 0 && index * count < 12)
    return { label: `the ${ordinals[index]} ${next}`, first: index * count + 1, months: count, length: 2 };
  const month = months.indexOf(word) + 1;
  if (month === 0 || (word === 'may' && !beforeMay.test(lowerAt(words, at - 1)))) return undefined;
  return { label: capital(word), first: month, months: 1, length: 1 };
}

/** `3 March`, `3rd of March`, `March 3`, `March the 3rd` */
function dayPart(words: readonly Word[], at: number): PartOfYear | undefined {
  const isNamed = months.includes(lowerAt(words, at));
  const joint = lowerAt(words, at + 1) === (isNamed ? 'the' : 'of') ? 1 : 0;
  const [number, month] = [lowerAt(words, isNamed ? at + 1 + joint : at), lowerAt(words, isNamed ? at : at + 1 + joint)];
  const [, digits, suffix] = /^(\d{1,2})(st|nd|rd|th)?$/.exec(number) ?? [];
  const first = months.indexOf(month) + 1;
  if (digits === undefined || first === 0) return undefined;
  const day = Number(digits);
  return { label: `${day} ${capital(month)}`, first, months: 0, day, length: 2 + joint, isLoose: suffix === undefined };
}

/** A day that there is in that year, or in every one. */
const isDay = ({ day, first }: PartOfYear, year: Year | undefined): boolean =>
  day === undefined || isDate(`${year && isYear(year.label) ? year.label : 2001}-${twoDigits(first)}-${twoDigits(day)}`);

const twoDigits = (number: number) => String(number).padStart(2, '0');

/** `2025`, `of 2025`, `last year`, `of the year` */
function yearAfter(words: readonly Word[], at: number): Year | undefined {
  const from = /^(of|in)$/.test(lowerAt(words, at)) ? at + 1 : at;
  const word = lowerAt(words, from);
  if (isYear(word)) return { label: word, from: `date '${word}-01-01'`, length: from + 1 - at, ahead: false };
  const direction = word === 'the' && from > at ? 0 : directions.get(word);
  if (direction === undefined || lowerAt(words, from + 1) !== 'year') return undefined;
  const label = word === 'the' ? 'this year' : `${word} year`;
  return { label, from: shiftStart('year', direction), length: from + 2 - at, ahead: direction > 0 };
}

function spanOfPart(part: PartOfYear, year: Year | undefined): CalendarSpan {
  const { first, months: count, day } = part;
  const inYear = (from: string) => `(${from} + interval '${first - 1} months${day === undefined ? '' : ` ${day - 1} days`}')::date`;
  const from = year ? inYear(year.from) : lastBegun(inYear(start('year')));
  return {
    label: year ? `${part.label} ${/^the/.test(part.label) ? 'of ' : ''}${year.label}` : part.label,
    from,
    to: day === undefined ? `(${from} + interval '${count} months')::date` : dayAfter(from),
    grain: ({ 0: 'day', 1: 'month', 3: 'quarter', 6: 'half' } as const)[count],
    part,
    year,
    ...(year ? { ahead: year.ahead } : { isBare: true }),
  };
}

const hasBegun = '<= current_date then';

/** The last one that has begun; that of the next year has where `withComing` moves the limit. */
function lastBegun(thisYear: string): string {
  const nextYear = `(${thisYear} + interval '1 year')::date`;
  return `(case when ${nextYear} ${hasBegun} ${nextYear} when ${thisYear} ${hasBegun} ${thisYear} else ${yearBefore(thisYear)} end)`;
}

/** A month or day without a year may also come in the next six months, where rows are planned ahead. */
export function withComing<T extends Period>(period: T): T {
  const coming = (day: string | undefined) => day?.replaceAll(hasBegun, "<= current_date + interval '6 months' then");
  return period.isBare ? { ...period, from: coming(period.from), to: coming(period.to) } : period;
}

const yearBefore = (day: string) => `(${day} - interval '1 year')::date`;

/** A year beside one of two months or days applies to both: `Q1 and Q2 2025`. */
export function inOneYear(a: CalendarSpan, b: CalendarSpan): [CalendarSpan, CalendarSpan] {
  const year = a.year ?? b.year;
  if (!a.part || !b.part || !year || a.grain !== b.grain || a.part.label === b.part.label) return [a, b];
  return [a.year ? a : spanOfPart(a.part, year), b.year ? b : spanOfPart(b.part, year)];
}

/** The first and last day of a range, of which the one is not after the other. */
export function endsOfRange(a: CalendarSpan, b: CalendarSpan): [from: string | undefined, to: string | undefined] {
  const [first, last] = inOneYear(a, b);
  if (!first.isBare || !last.isBare) return [first.from, last.to];
  return [`(case when ${first.from} <= ${last.from} then ${first.from} else ${yearBefore(first.from as string)} end)`, last.to];
}

/** A day that there is, after the first years, which PostgreSQL counts differently. */
function isDate(text: string): boolean {
  if (!/^[1-9]\d{3}-\d{2}-\d{2}$/.test(text) || Number.isNaN(Date.parse(text))) return false;
  return new Date(text).toISOString().startsWith(text);
}

/** `2026-03-31`; it needs a word such as `on` or `since` before it. */
export function dateAt(words: readonly Word[], at: number): Named | undefined {
  const text = lowerAt(words, at);
  const day = `date '${text}'`;
  return isDate(text) ? { label: text, grain: 'day', from: day, to: dayAfter(day), length: 1 } : undefined;
}

export const yearPeriod = (word: string): Named => ({
  label: word,
  from: `date '${word}-01-01'`,
  to: `date '${Number(word) + 1}-01-01'`,
  length: 1,
  grain: 'year',
});

const dayOfWeek = 'extract(isodow from current_date)::int';

/** `last Monday` is before today, `next Friday` after it and `this Friday` in this week; where a span begins or ends, `Monday` is the last one. */
export function weekdayAt(words: readonly Word[], at: number, isBound = false): Named | undefined {
  const direction = directions.get(lowerAt(words, at));
  const named = direction === undefined ? at : at + 1;
  const day = weekdays.indexOf(lowerAt(words, named)) + 1;
  if (day === 0 || (direction === undefined && !isBound)) return undefined;
  const from =
    direction === 0
      ? `(${start('week')} + ${day - 1})`
      : direction === 1
        ? `(current_date + (${day + 6} - ${dayOfWeek}) % 7 + 1)`
        : `(current_date - (${dayOfWeek} + ${6 - day}) % 7 - 1)`;
  const label = `${direction === undefined ? 'last' : lowerAt(words, at)} ${capital(weekdays[day - 1] as string)}`;
  return { label, grain: 'day', from, to: dayAfter(from), length: named + 1 - at, ahead: direction === 1 };
}

const groupsOfDays = new Map<string, readonly number[]>([
  ['weekends', [6, 7]],
  ['weekdays', [1, 2, 3, 4, 5]],
]);

/** `on Mondays`, `on Saturdays and Sundays`, `on a Monday`, `at weekends`, `on weekdays`: days of each week. */
export function weekdaysAt(words: readonly Word[], at: number): Named | undefined {
  const word = lowerAt(words, at);
  const isEvery = /^(an?|any)$/.test(word);
  const single = isEvery ? weekdays.indexOf(lowerAt(words, at + 1)) : -1;
  const several = groupsOfDays.get(word) ?? [weekdays.findIndex((day) => `${day}s` === word) + 1];
  const isGroup = word === 'weekdays' && !/^(on|during)$/.test(lowerAt(words, at - 1));
  const days = single >= 0 ? [single + 1] : several;
  if (days[0] === 0 || isGroup) return undefined;
  const length = single >= 0 ? 2 : 1;
  const more = /^(and|or)$/.test(lowerAt(words, at + length)) ? weekdaysAt(words, at + length + 1) : undefined;
  const all = [...new Set([...days, ...(more?.weekdays?.days ?? [])])].toSorted();
  const names = all.map((day) => `${capital(weekdays[day - 1] as string)}s`);
  const label = `on ${names.join(', ').replace(/, (\w+)$/, ' and $1')}`;
  return { label, from: undefined, to: undefined, weekdays: { label, days: all }, length: length + (more ? 1 + more.length : 0) };
}

/** In words, `a` is one. */
export const countOf = (word: string): number | undefined => (/^an?$/.test(word) ? 1 : numberOf(word));
