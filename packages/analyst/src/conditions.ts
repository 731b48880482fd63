import { columnName, literal } from './identifiers.ts';
import type { Comparison, Intent, Span, Without } from './intent.ts';
import type { Tables } from './tables.ts';
import type { Hit } from './values.ts';

export function spanSql({ column, until, period }: Span, columnOf: (name: string) => string): string[] {
  const start = columnOf(column);
  const end = until ? columnOf(until) : start;
  return [...(period.from ? [`${end} >= ${period.from}`] : []), ...(period.to ? [`${start} < ${period.to}`] : [])];
}

/** Which rows count; with a comparison of two spans each number sees to its own. */
export function conditionsSql(intent: Intent, tables: Tables, amount: string | undefined, withSpan: boolean): string {
  const { conditions, span, comparison, without } = intent;
  const compared = amount ?? (intent.compared && `t0.${columnName(intent.compared.name)}`);
  const all = [
    ...conditions.map(({ table, sql }) => sql(tables.alias(table))),
    // A rate is of all rows, those with the values and those without.
    ...(intent.kind === 'figure' && intent.rate ? [] : valuesSql(intent.hits, tables)),
    ...(span && withSpan ? spanSql(span, (name) => tables.column(span.table, name)) : []),
    ...(comparison && compared ? [comparisonSql(compared, comparison)] : []),
    ...(without ? [withoutSql(without)] : []),
  ];
  return all.length > 0 ? `where ${all.join(' and ')}` : '';
}

export const comparisonSql = (compared: string, { operator, number, to }: Comparison): string =>
  to === undefined ? `${compared} ${operator} ${number}` : `${compared} between ${number} and ${to}`;

/** Several values of one column are one or the other of them. */
export function valuesSql(hits: readonly Hit[], tables: Tables): string[] {
  const groups = Map.groupBy(hits, ({ table, column, excluded }) => JSON.stringify([table, column, excluded ?? false]));
  return [...groups.values()].map((group) => {
    const { table, column, excluded } = group[0] as Hit;
    const name = `lower(${tables.column(table, column)}::text)`;
    const values = group.map(({ value }) => literal(value.toLowerCase()));
    if (excluded) return `coalesce(${name}, '') not in (${values.join(', ')})`;
    return values.length === 1 ? `${name} = ${values[0]}` : `${name} in (${values.join(', ')})`;
  });
}

function withoutSql({ table, key, span }: Without): string {
  const met = [
    `w.${columnName(key.column)} = t0.${columnName(key.references)}`,
    ...(span ? spanSql(span, (name) => `w.${columnName(name)}`) : []),
  ];
  return `not exists (select 1 from ${table.written} w where ${met.join(' and ')})`;
}
