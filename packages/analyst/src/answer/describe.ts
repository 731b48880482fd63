import { comparisonLabel } from '../conditions/comparisons.ts';
import type { Intent } from '../meaning/intent.ts';
import { isLabelOf } from '../question/groups.ts';
import { isPlanned } from '../schema/roles.ts';
import { type ForeignKey, keysOfMany, type Schema, tableOf } from '../schema/schema.ts';
import { type Grain, spanLabel } from '../words/grains.ts';
import { pluralOf, toWords } from '../words/words.ts';

/** Describes what was counted, so that a reader can object; with the days of its periods if they are known. */
export function describeIntent(intent: Intent, [days, daysBefore]: readonly string[] = []): string {
  const { base, conditions, span, day, dimensions, having, orderBy, distinct, versus, rate, shape, limited } = intent;
  const subject = distinct ? base.foreignKeys.find(({ column }) => column === distinct.column)?.table : undefined;
  const beside = versus ? ` against ${versus.label}${inBrackets(daysBefore)}` : '';
  const parts = [
    subject ? `each of the ${toWords(subject)} once by ${toWords(base.name)}` : toWords(base.name),
    ...conditions.map(({ label }) => label),
    ...(rate
      ? [
          `of them those ${rate
            .map(({ label }) => label)
            .join(' and ')
            .replace(/^(?!with(out)? )/, 'with ')}`,
        ]
      : []),
    ...(span ? [`${`${toWords(span.column)} ${spanLabel(span.period)}`.replace(/ (on|at) on /, ' on ')}${inBrackets(days)}${beside}`] : []),
    ...(!span && day && dimensions.some(({ kind }) => kind === 'time') ? [`by ${toWords(day.column)}`] : []),
    ...(having ? [`only groups ${'operator' in having ? comparisonLabel(having) : 'beyond their limit'}`] : []),
    ...(shape === 'list' && orderBy && limited ? [`${orderBy.descending ? 'highest' : 'lowest'} ${orderBy.label} first`] : []),
  ];
  return parts.join(', ');
}

/** The keys that were taken where two of a row lead to one table. */
export function keysAssumed({ base, dimensions, conditions, rate, quantity, distinct, span, orderBy }: Intent, schema: Schema): string[] {
  const used = [
    ...dimensions.flatMap((one) => (one.kind === 'column' ? [one.table] : [])),
    ...[...conditions, ...(rate ?? []), quantity?.value, quantity?.per, orderBy?.column].flatMap((one) => one?.tables ?? []),
    ...(span ? [span.table] : []),
  ];
  const counted = base.foreignKeys.find(({ column }) => column === distinct?.column);
  const others = base.foreignKeys.filter(({ table, column }) => table === counted?.table && column !== counted.column);
  const keys = [
    ...(counted && others.length > 0 ? [{ key: counted, others }] : []),
    ...[...new Set(used)].flatMap((table) => keysOfMany(schema, base, table)),
  ];
  const nameOf = ({ column }: ForeignKey) => toWords(column.replace(/_id$/i, ''));
  return [
    ...new Set(keys.map((one) => `${toWords(one.key.table)}: those of ${nameOf(one.key)}, not of ${one.others.map(nameOf).join(' or ')}`)),
  ];
}

/**
 * Customers without orders have no part in the average of orders per customer, and none has the fewest; nor has a month without any. Rows
 * without a cost have no part in a margin.
 */
export function absentAssumed({ base, dimensions, ofGroups, order, limited, shape, span, quantity }: Intent, schema: Schema): string[] {
  if (shape === 'list') return [];
  const both = quantity?.per ? [`only ${toWords(base.name)} with both numbers of the ${quantity.label.replace(/ in %$/, '')}`] : [];
  if (ofGroups !== 'avg' && !(limited && order === 'least')) return both;
  const absent = dimensions.flatMap((one) => {
    // Answers about a span say when it is not over.
    const open = span || (one.kind === 'time' && one.grain === 'weekday') ? '' : ', also one that is not over';
    if (one.kind === 'time') return [`only ${pluralOf(one.grain)} with such ${toWords(base.name)}${open}`];
    const table = tableOf(schema, one.table);
    return table && table !== base && isLabelOf(table, one) ? [`only ${toWords(table.name)} with such ${toWords(base.name)}`] : [];
  });
  return [...both, ...absent];
}

const inBrackets = (days = '') => (days === '' ? '' : ` (${days.replace(/^(.+) to \1$/, '$1')})`);

/** The words of an intent that was understood only in part, for the question back. */
export function understoodOf({ base, quantity, dimensions, conditions, span }: Intent): string {
  const what = quantity?.label ?? toWords(base.name);
  const groups = dimensions.map((one) => (one.kind === 'time' ? one.grain : toWords(one.column)));
  return [
    what,
    ...(groups.length > 0 ? [`by ${groups.join(' and ')}`] : []),
    ...conditions.map(({ label }) => label),
    ...(span ? [span.period.label] : []),
  ].join(', ');
}

/** A period that is not over, or the last of several; and the first of several that begins before the span does. */
export function unfinishedOf({ span, dimensions, versus }: Intent, today: string, days: readonly string[]): string[] {
  const [from = '', last] = days[0]?.match(/\d{4,}-\d{2}-\d{2}/g) ?? [];
  const grain = dimensions.flatMap((one) => (one.kind === 'time' && one.grain !== 'weekday' ? [one.grain] : []))[0];
  const cut = grain && from !== '' && !isFirstDay(from, grain) ? [`The first ${grain} is counted from ${from} on`] : [];
  if (!span || last === undefined || last <= today || from > today) return cut;
  // Rows that are planned ahead are counted beyond today.
  const upTo = isPlanned(span.column) ? '' : `: the figures go up to ${today}`;
  const isWhole = versus && !/so far|same days/.test(versus.label) ? '; it is compared with a whole one' : '';
  return [
    ...cut,
    grain
      ? `The last ${grain} is not over`
      : `${span.period.label.replace(/^./, (letter) => letter.toUpperCase())} is not over${upTo}${isWhole}`,
  ];
}

/** True for the day on which a week, month, quarter or year begins. */
const isFirstDay = (day: string, grain: Grain): boolean =>
  ({ day: /./, week: /^1/, month: /-01$/, quarter: /-(01|04|07|10)-01$/, year: /-01-01$/ })[grain].test(
    grain === 'week' ? String(new Date(day).getUTCDay()) : day,
  );
