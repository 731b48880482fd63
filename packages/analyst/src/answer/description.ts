import type { Comparison, Figure, Intent } from '../question/intent.ts';
import type { Hit } from '../schema/values.ts';
import type { Period } from '../words/periods.ts';

const spoken = (name: string) => name.replaceAll(/[_.]/g, ' ');

function titleOf({ operation, amount, base, distinct }: Figure): string {
  const what = amount?.label ?? spoken(base.name);
  if (operation === 'count') return `number of ${spoken(distinct?.table ?? base.name)}`;
  if (operation === 'sum') return amount?.named ? what : what === 'total' ? `total of ${spoken(base.name)}` : `total ${what}`;
  return `${{ avg: 'average', median: 'median', min: 'lowest', max: 'highest' }[operation]} ${what}`;
}

/** The titles of a figure's numbers, in order. */
export function figureTitles(figure: Figure): string[] {
  if (figure.rate) return [`share of ${spoken(figure.base.name)} in %`];
  const title = titleOf(figure);
  const { versus, span, change, share } = figure;
  if (versus && span) return [`${title}, ${span.period.label}`, `${title}, ${versus.label}`, ...(change ? ['change in %'] : [])];
  return share ? [title, 'share in %'] : [title];
}

/** Describes what was counted, so that a reader can object; with the days of its periods if they are known. */
export function describeIntent(intent: Intent, [days, daysBefore]: readonly string[] = []): string {
  const { base, conditions, span, comparison, compared, without } = intent;
  const distinct = intent.kind === 'figure' ? intent.distinct : undefined;
  const versus = intent.kind === 'figure' && intent.versus ? ` against ${intent.versus.label}${inBrackets(daysBefore)}` : '';
  const having = intent.kind === 'figure' ? intent.having : undefined;
  const parts = [
    distinct ? `each of the ${spoken(distinct.table)} once by ${spoken(base.name)}` : spoken(base.name),
    ...conditions.map(({ label }) => label),
    ...valueLabels(intent.hits),
    ...(span ? [`${spoken(span.column)} ${spanLabel(span.period)}${inBrackets(days)}${versus}`] : []),
    ...(comparison ? [`each ${compared ? `${spoken(compared.name)} ` : ''}${comparisonLabel(comparison)}`] : []),
    ...(having ? [`only groups ${comparisonLabel(having)}`] : []),
    ...orderLabel(intent),
    ...(without ? [`without ${spoken(without.table.name)}${without.span ? ` ${spanLabel(without.span.period)}` : ''}`] : []),
  ];
  return parts.join(', ');
}

const inBrackets = (days = '') => (days === '' ? '' : ` (${days.replace(/^(.+) to \1$/, '$1')})`);

/** By what the first ones of a list are the first. */
function orderLabel(intent: Intent): string[] {
  if (intent.kind !== 'list' || !intent.orderBy || !intent.limited) return [];
  const { column, descending } = intent.orderBy;
  return [`${descending ? 'highest' : 'lowest'} ${spoken(column)} first`];
}

function valueLabels(hits: readonly Hit[]): string[] {
  const groups = Map.groupBy(hits, ({ table, column, excluded }) => `${table} ${column} ${excluded}`);
  return [...groups.values()].map((group) => {
    const { column, excluded } = group[0] as Hit;
    const values = group.map(({ value }) => value);
    return `${spoken(column)} ${excluded ? `not ${values.join(' nor ')}` : values.join(' or ')}`;
  });
}

const comparisonLabel = ({ operator, number, to }: Comparison) =>
  to === undefined ? `${{ '>': 'over', '<': 'under', '>=': 'at least', '<=': 'at most' }[operator]} ${number}` : `from ${number} to ${to}`;

const spanLabel = ({ label }: Period) =>
  (/^(since|after|before)/.test(label) ? label : `in ${label}`).replace(
    /^in (today|yesterday|tomorrow|this|last|next|past|previous|current|coming|upcoming|\d{4}-)/,
    '$1',
  );
