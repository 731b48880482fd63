import { has, type Word } from './words.ts';

/** A span of days in SQL: from the first day up to, and not including, the second. */
export interface Period {
  readonly label: string;
  readonly from: string | undefined;
  readonly to: string | undefined;
}

export type Grain = 'day' | 'week' | 'month' | 'quarter' | 'year';

export const grains: readonly Grain[] = ['day', 'week', 'month', 'quarter', 'year'];

const months = ['january', 'february', 'march', 'april', 'may', 'june', 'july', 'august', 'september', 'october', 'november', 'december'];
const start = (grain: Grain) => (grain === 'day' ? 'current_date' : `date_trunc('${grain}', current_date)::date`);
const interval = (count: number, grain: Grain) =>
  grain === 'quarter' ? `interval '${count * 3} months'` : `interval '${count} ${grain}s'`;
const shifted = (grain: Grain, by: number) => {
  if (by === 0) return start(grain);
  return `(${start(grain)} ${by < 0 ? '-' : '+'} ${interval(Math.abs(by), grain)})::date`;
};
const whole = (label: string, grain: Grain, by: number): Period => ({ label, from: shifted(grain, by), to: shifted(grain, by + 1) });

/** Every span of time that the words name, in their order. */
export function periodsOf(words: readonly Word[]): Period[] {
  const found: { at: number; period: Period }[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const period = periodAt(words, at);
    if (period) found.push({ at, period });
  }
  return found.map(({ period }) => period);
}

function periodAt(words: readonly Word[], at: number): Period | undefined {
  return named(words, at) ?? relative(words, at) ?? calendar(words, at) ?? bounded(words, at);
}

function named(words: readonly Word[], at: number): Period | undefined {
  switch (words[at]?.lower) {
    case 'today':
      return whole('today', 'day', 0);
    case 'yesterday':
      return whole('yesterday', 'day', -1);
    case 'tomorrow':
      return whole('tomorrow', 'day', 1);
    case 'ytd':
      return whole('this year', 'year', 0);
    default:
      return undefined;
  }
}

const directions: Readonly<Record<string, number>> = { this: 0, current: 0, last: -1, previous: -1, past: -1, next: 1, coming: 1 };

/** last month, this year, next week; last 30 days, past 6 months, next 2 weeks */
function relative(words: readonly Word[], at: number): Period | undefined {
  const direction = directions[words[at]?.lower ?? ''];
  if (direction === undefined) return undefined;
  const count = numberOf(words[at + 1]?.lower);
  const grain = grainOf(words[count === undefined ? at + 1 : at + 2]);
  if (!grain) return undefined;
  if (count === undefined) return whole(`${words[at]?.lower} ${grain}`, grain, direction);
  if (direction === 0) return undefined;
  const label = `${words[at]?.lower} ${count} ${grain}${count === 1 ? '' : 's'}`;
  // Up to and with today, or from tomorrow on.
  if (direction < 0)
    return {
      label,
      from: `(current_date - ${interval(count, grain)} + interval '1 day')::date`,
      to: "(current_date + interval '1 day')::date",
    };
  return {
    label,
    from: "(current_date + interval '1 day')::date",
    to: `(current_date + ${interval(count, grain)} + interval '1 day')::date`,
  };
}

export const grainOf = (word: Word | undefined): Grain | undefined =>
  grains.find((grain) => grain === word?.stem || `${grain}ly` === word?.lower || (grain === 'day' && word?.lower === 'daily'));

const small = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'];

export function numberOf(word: string | undefined): number | undefined {
  if (word === undefined) return undefined;
  if (/^\d{1,3}(,\d{3})*(\.\d+)?$|^\d+(\.\d+)?$/.test(word)) return Number(word.replaceAll(',', ''));
  const index = small.indexOf(word);
  return index < 0 ? undefined : index + 1;
}

/** in March, in March 2026, in 2025; a month without a year is the last one that has begun. */
function calendar(words: readonly Word[], at: number): Period | undefined {
  const word = words[at]?.lower ?? '';
  const before = words[at - 1]?.lower ?? '';
  const month = months.indexOf(word) + 1;
  if (month > 0 && (word !== 'may' || before === 'in' || before === 'of' || before === 'for'))
    return monthPeriod(month, words[at + 1]?.lower ?? '');
  const alone = /^(19|20)\d{2}$/.test(word) && months.indexOf(before) < 0 && ['in', 'of', 'for', 'during', 'year'].includes(before);
  return alone ? { label: word, from: `date '${word}-01-01'`, to: `date '${Number(word) + 1}-01-01'` } : undefined;
}

function monthPeriod(month: number, following: string): Period {
  const name = months[month - 1] as string;
  const label = `${name[0]?.toUpperCase()}${name.slice(1)}`;
  const first = (year: number, number: number) =>
    `date '${number > 12 ? year + 1 : year}-${String(number > 12 ? 1 : number).padStart(2, '0')}-01'`;
  if (/^(19|20)\d{2}$/.test(following))
    return { label: `${label} ${following}`, from: first(Number(following), month), to: first(Number(following), month + 1) };
  const back = `(extract(month from current_date)::int - ${month} + 12) % 12`;
  const from = `(date_trunc('month', current_date) - interval '1 month' * (${back}))::date`;
  return { label, from, to: `(${from} + interval '1 month')::date` };
}

const isDate = (word: Word | undefined) => /^\d{4}-\d{2}-\d{2}$/.test(word?.lower ?? '') && !Number.isNaN(Date.parse(word?.lower ?? ''));

/** since 2026-01-01, before 2026-01-01, between 2026-01-01 and 2026-01-31, on 2026-01-01 */
function bounded(words: readonly Word[], at: number): Period | undefined {
  const [word, first, second] = [words[at]?.lower ?? '', words[at + 1], words[at + 3]];
  if (!isDate(first)) return undefined;
  const day = `date '${first?.lower}'`;
  const after = (date: string) => `(${date} + interval '1 day')::date`;
  if (['between', 'from'].includes(word) && isDate(second))
    return { label: `${first?.lower} to ${second?.lower}`, from: day, to: after(`date '${second?.lower}'`) };
  if (['since', 'from'].includes(word)) return { label: `since ${first?.lower}`, from: day, to: undefined };
  if (word === 'after') return { label: `after ${first?.lower}`, from: after(day), to: undefined };
  if (['before', 'until'].includes(word)) return { label: `before ${first?.lower}`, from: undefined, to: day };
  return word === 'on' ? { label: `${first?.lower}`, from: day, to: after(day) } : undefined;
}

/** Two spans are to be set side by side. */
export const isComparison = (words: readonly Word[]): boolean =>
  has(words, 'compare', 'compared', 'comparison', 'versus', 'vs', 'against', 'than last', 'and last');
