import { type Grain, interval, type Period, tomorrow } from './grains.ts';
import type { Word } from './words.ts';

/** `the same month last year`: a span of the words, so many weeks, months or years before. */
export interface SameSpan {
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

export function sameSpanAt(words: readonly Word[], at: number): SameSpan | undefined {
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
export function besideSame({ noun, back }: SameSpan, now: Period): Beside | undefined {
  const { from, to } = now;
  if (from === undefined || (to === undefined && noun !== 'period')) return undefined;
  if (noun === 'period') return toTheSameDay(now, from, back);
  if (now.grain !== noun || (back !== 'year' && noun !== 'day')) return undefined;
  if (noun === 'week') return { now, before: { label: 'the same week of the year before', ...weekOfYearBefore(from) } };
  const shifted = (day: string) => earlier(day, back);
  return { now, before: { label: `the same ${noun} a ${back} before`, from: shifted(from), to: to && shifted(to) } };
}

const earlier = (day: string, back: SameSpan['back']) => `(${day} - ${interval(1, back)})::date`;

/** The span so far; one that is over, or has not begun, is a whole one. */
function toTheSameDay({ label, to }: Period, from: string, back: SameSpan['back']): Beside {
  const runs = `current_date >= ${from}${to === undefined ? '' : ` and current_date < ${to}`}`;
  const dayBefore = `(current_date - ${interval(1, back)} + interval '1 day')::date`;
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
