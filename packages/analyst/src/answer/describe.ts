import type { Intent } from '../meaning/intent.ts';
import { comparisonLabel } from '../question/comparisons.ts';
import { isPlanned } from '../schema/roles.ts';
import type { Period } from '../words/periods.ts';
import { spoken } from '../words/words.ts';

/** Describes what was counted, so that a reader can object; with the days of its periods if they are known. */
export function describeIntent(intent: Intent, [days, daysBefore]: readonly string[] = []): string {
  const { base, conditions, span, having, orderBy, distinct, versus, rate, shape, limited } = intent;
  const subject = distinct ? base.foreignKeys.find(({ column }) => column === distinct.column)?.table : undefined;
  const beside = versus ? ` against ${versus.label}${inBrackets(daysBefore)}` : '';
  const parts = [
    subject ? `each of the ${spoken(subject)} once by ${spoken(base.name)}` : spoken(base.name),
    ...conditions.map(({ label }) => label),
    ...(rate ? [`of them those with ${rate.map(({ label }) => label).join(' and ')}`] : []),
    ...(span ? [`${spoken(span.column)} ${spanLabel(span.period)}${inBrackets(days)}${beside}`] : []),
    ...(having ? [`only groups ${'operator' in having ? comparisonLabel(having) : 'beyond their limit'}`] : []),
    ...(shape === 'list' && orderBy && limited ? [`${orderBy.descending ? 'highest' : 'lowest'} ${orderBy.label} first`] : []),
  ];
  return parts.join(', ');
}

const inBrackets = (days = '') => (days === '' ? '' : ` (${days.replace(/^(.+) to \1$/, '$1')})`);

const spanLabel = ({ label }: Period) =>
  (/^(since|after|before|up to|the )/.test(label) ? label : `in ${label}`).replace(
    /^in (today|yesterday|tomorrow|this|last|next|past|previous|current|coming|upcoming|\d{4}-)/,
    '$1',
  );

/** The words of an intent that was understood only in part, for the question back. */
export function understoodOf({ base, quantity, dimensions, conditions, span }: Intent): string {
  const what = quantity?.label ?? spoken(base.name);
  const groups = dimensions.map((one) => (one.kind === 'time' ? one.grain : spoken(one.column)));
  return [
    what,
    ...(groups.length > 0 ? [`by ${groups.join(' and ')}`] : []),
    ...conditions.map(({ label }) => label),
    ...(span ? [span.period.label] : []),
  ].join(', ');
}

/** A period that is not over, or the last of several. */
export function unfinishedOf({ span, dimensions, versus }: Intent, today: string, days: readonly string[]): string[] {
  const [first] = days;
  const last = first?.split(' to ')[1];
  if (!span || last === undefined || last <= today || (first?.split(' to ')[0] ?? '') > today) return [];
  const grain = dimensions.flatMap((one) => (one.kind === 'time' ? [one.grain] : []))[0];
  // Rows that are planned ahead are counted beyond today.
  const upTo = isPlanned(span.column) ? '' : `: the figures go up to ${today}`;
  const isWhole = versus && !/so far|same days/.test(versus.label) ? '; it is compared with a whole one' : '';
  return [
    grain
      ? `The last ${grain} is not over`
      : `${span.period.label.replace(/^./, (letter) => letter.toUpperCase())} is not over${upTo}${isWhole}`,
  ];
}
