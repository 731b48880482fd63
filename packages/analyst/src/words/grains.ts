import type { Word } from './words.ts';

export type Grain = 'day' | 'week' | 'month' | 'quarter' | 'year';

/** Spans of one unit, or the seven days of the week. */
export type TimeGroup = Grain | 'weekday';

/** A span of days in SQL: from the first day up to, and not including, the second. */
export interface Period {
  readonly label: string;
  readonly from: string | undefined;
  readonly to: string | undefined;
  /** Only these days of the week; Monday is 1. */
  readonly weekdays?: { readonly label: string; readonly days: readonly number[] };
  /** The unit, where the period is exactly one. */
  readonly grain?: Grain | 'half' | undefined;
  /** The unit, where the period is the last N units. */
  readonly rolling?: Grain;
  /** It is another span, so many weeks, months or years before. */
  readonly repeats?: true;
  /** A month or day without a year. */
  readonly isBare?: true;
  /** It begins after today. */
  readonly ahead?: boolean;
}

/** With the number of the words that name it. */
export type Named = Period & { readonly length: number };

export const grains: readonly Grain[] = ['day', 'week', 'month', 'quarter', 'year'];

export const grainOf = (word: Word | undefined): Grain | undefined =>
  grains.find((grain) => grain === word?.stem || `${grain}ly` === word?.lower || (grain === 'day' && word?.lower === 'daily'));

export const directions = new Map(
  Object.entries({ this: 0, current: 0, last: -1, previous: -1, past: -1, next: 1, coming: 1, upcoming: 1 }),
);

export const tomorrow = "(current_date + interval '1 day')::date";

export const start = (grain: Grain) => (grain === 'day' ? 'current_date' : `date_trunc('${grain}', current_date)::date`);

export const interval = (count: number, grain: Grain | 'half') => {
  const months = { quarter: 3, half: 6 }[grain as string];
  return months === undefined ? `interval '${count} ${grain}s'` : `interval '${count * months} months'`;
};

export const shiftStart = (grain: Grain, by: number) => {
  if (by === 0) return start(grain);
  return `(${start(grain)} ${by < 0 ? '-' : '+'} ${interval(Math.abs(by), grain)})::date`;
};

export const whole = (label: string, grain: Grain, by: number): Period => ({
  label,
  grain,
  ahead: by > 0,
  from: shiftStart(grain, by),
  to: shiftStart(grain, by + 1),
});

export const dayAfter = (day: string) => `(${day} + interval '1 day')::date`;

/** The conditions under which a day, or a time that lasts up to another day or has no end yet, is in the period. */
export const periodSql = ({ from, to, weekdays }: Omit<Period, 'label'>, day: string, end?: string): string[] => [
  ...(from ? [end === undefined ? `${day} >= ${from}` : `(${end} is null or ${end} >= ${from})`] : []),
  ...(to ? [`${day} < ${to}`] : []),
  ...(weekdays ? [`extract(isodow from ${day}) in (${weekdays.days.join(', ')})`] : []),
];

/** The period as a part of a sentence. */
export const spanLabel = ({ label }: Period) => {
  const isPlain =
    /^(since|after|before|up to|on|the (?!first|second|third|fourth)|today|yesterday|tomorrow|this|last|next|past|previous|current|coming|upcoming|\d{4}-)/;
  if (isPlain.test(label) || / ago$/.test(label)) return label;
  return /^\d{1,2} [A-Z]/.test(label) ? `on ${label}` : `in ${label}`;
};
