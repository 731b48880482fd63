import { mainNumber } from './columns.ts';
import { type Dimension, labelColumn, labelOf } from './dimensions.ts';
import type { Figure, Intent, Listing, Span } from './intent.ts';
import type { Grain, Period } from './periods.ts';
import { pathTo, type Schema, type Table, tableOf } from './schema.ts';
import { identifier, literal } from './values.ts';

export interface Statement {
  readonly sql: string;
  /** What the columns are called in the answer. */
  readonly titles: readonly string[];
}

const formats: Readonly<Record<Grain, string>> = {
  day: 'YYYY-MM-DD',
  week: 'IYYY-"W"IW',
  month: 'YYYY-MM',
  quarter: 'YYYY-"Q"Q',
  year: 'YYYY',
};

/** The one query that answers the intent. */
export const statementOf = (intent: Intent, schema: Schema): Statement =>
  intent.kind === 'figure' ? figureStatement(intent, schema) : listStatement(intent, schema);

/** Tables of a statement: the base, and those that are met along keys. */
class Tables {
  readonly #aliases = new Map<string, string>();
  readonly #joins: string[] = [];
  readonly #base: Table;
  readonly #schema: Schema;

  constructor(base: Table, schema: Schema) {
    this.#base = base;
    this.#schema = schema;
    this.#aliases.set(base.name, 't0');
  }

  alias(name: string): string {
    const known = this.#aliases.get(name);
    if (known) return known;
    let from = this.#base.name;
    for (const key of pathTo(this.#schema, this.#base, name) ?? []) {
      if (!this.#aliases.has(key.table)) this.#join(from, key.table, key.column, key.references);
      from = key.table;
    }
    const alias = this.#aliases.get(name);
    if (!alias) throw new Error(`no key leads from ${this.#base.name} to ${name}`);
    return alias;
  }

  #join(from: string, to: string, column: string, references: string): void {
    const alias = `t${this.#aliases.size}`;
    this.#joins.push(
      `left join ${identifier(to)} ${alias} on ${alias}.${identifier(references)} = ${this.#aliases.get(from)}.${identifier(column)}`,
    );
    this.#aliases.set(to, alias);
  }

  get sql(): string {
    return [`from ${identifier(this.#base.name)} t0`, ...this.#joins].join(' ');
  }
}

function figureStatement(figure: Figure, schema: Schema): Statement {
  const tables = new Tables(figure.base, schema);
  const dimensions = figure.dimensions.map((dimension) => dimensionSql(dimension, figure, tables));
  const amount = figure.amount?.sql((name) => tables.alias(name));
  const value = valueSql(figure, amount, figure.versus ? figure.span : undefined, tables);
  const other = figure.versus && figure.span ? [valueSql(figure, amount, { ...figure.span, period: figure.versus }, tables)] : [];
  const where = conditionsSql(figure, tables, amount, figure.versus === undefined);
  const places = dimensions.map((_, index) => String(index + 1)).join(', ');
  const order =
    figure.order === 'time' ? places : `${dimensions.length + 1} ${figure.order === 'least' ? 'asc' : 'desc'} nulls last, ${places}`;
  const sql = [
    `select ${[...dimensions, value, ...other].join(', ')}`,
    tables.sql,
    where,
    dimensions.length > 0 ? `group by ${places} order by ${order} limit ${figure.limit}` : '',
  ];
  const title = titleOf(figure);
  const values = figure.versus ? [`${title}, ${figure.span?.period.label}`, `${title}, ${figure.versus.label}`] : [title];
  return { sql: sql.filter(Boolean).join(' '), titles: [...figure.dimensions.map((dimension) => labelOf(dimension, schema)), ...values] };
}

function dimensionSql(dimension: Dimension, { day }: Figure, tables: Tables): string {
  if (dimension.kind === 'column') return `${tables.alias(dimension.table)}.${identifier(dimension.column)}`;
  // Whoever read the question saw to it that there is a day.
  const column = day ? `${tables.alias(day.table)}.${identifier(day.column)}` : 'current_date';
  return `to_char(date_trunc('${dimension.grain}', ${column}), '${formats[dimension.grain]}')`;
}

function valueSql({ operation }: Figure, amount: string | undefined, only: Span | undefined, tables: Tables): string {
  const filter = only ? ` filter (where ${spanSql(only, tables).join(' and ')})` : '';
  if (operation === 'count' || amount === undefined) return `count(*)${filter}`;
  if (operation === 'avg') return `round(avg(${amount})${filter}, 2)`;
  return operation === 'sum' ? `coalesce(sum(${amount})${filter}, 0)` : `${operation}(${amount})${filter}`;
}

export function titleOf({ operation, amount, base }: Figure): string {
  const what = amount?.label ?? base.name.replaceAll('_', ' ');
  if (operation === 'count') return `number of ${base.name.replaceAll('_', ' ')}`;
  if (operation === 'sum') return amount?.named ? what : `total ${what}`;
  return `${{ avg: 'average', min: 'lowest', max: 'highest' }[operation]} ${what}`;
}

function spanSql({ table, column, until, period }: Span, tables: Tables): string[] {
  const start = `${tables.alias(table)}.${identifier(column)}`;
  const end = until ? `${tables.alias(table)}.${identifier(until)}` : start;
  return [...(period.from ? [`${end} >= ${period.from}`] : []), ...(period.to ? [`${start} < ${period.to}`] : [])];
}

function conditionsSql(intent: Intent, tables: Tables, amount: string | undefined, withSpan: boolean): string {
  const { hits, conditions, span, comparison, base } = intent;
  const values = hits.map(
    ({ table, column, value }) => `lower(${tables.alias(table)}.${identifier(column)}::text) = ${literal(value.toLowerCase())}`,
  );
  const column = mainNumber(base);
  const compared = amount ?? (column && `t0.${identifier(column.name)}`);
  const all = [
    ...conditions.map(({ table, sql }) => sql(tables.alias(table))),
    ...values,
    ...(span && withSpan ? spanSql(span, tables) : []),
    ...(comparison && compared ? [`${compared} ${comparison.operator} ${comparison.number}`] : []),
  ];
  return all.length > 0 ? `where ${all.join(' and ')}` : '';
}

const mostColumns = 9;

function listStatement(list: Listing, schema: Schema): Statement {
  const tables = new Tables(list.base, schema);
  const shown = shownColumns(list.base, schema).slice(0, mostColumns);
  const columns = shown.map(({ table, column }) => `${tables.alias(table)}.${identifier(column)}`);
  const { orderBy } = list;
  const order = orderBy ? `order by t0.${identifier(orderBy.column)} ${orderBy.descending ? 'desc' : 'asc'} nulls last, 1` : 'order by 1';
  const where = conditionsSql(list, tables, undefined, true);
  return {
    sql: [`select ${columns.join(', ')}`, tables.sql, where, `${order} limit ${list.limit}`].filter(Boolean).join(' '),
    titles: shown.map(({ title }) => title),
  };
}

/** A row as people know it: names in place of keys. */
function shownColumns(base: Table, schema: Schema): { table: string; column: string; title: string }[] {
  const label = labelColumn(base);
  // Rows without a name are told apart by their ids.
  const own = base.columns.filter(({ name }) => name !== 'id' || label?.name === 'id');
  return own
    .toSorted((a, b) => Number(b.name === label?.name) - Number(a.name === label?.name))
    .flatMap(({ name }) => {
      const key = base.foreignKeys.find(({ column }) => column === name);
      const target = key && tableOf(schema, key.table);
      const named = target && labelColumn(target);
      if (named && target !== base)
        return [{ table: target.name, column: named.name, title: name.replace(/_id$/, '').replaceAll('_', ' ') }];
      return name.endsWith('_id') ? [] : [{ table: base.name, column: name, title: name.replaceAll('_', ' ') }];
    });
}

/** What was counted, in words, so that a reader can object. */
export function readingOf(intent: Intent): string {
  const { base, conditions, hits, span, comparison } = intent;
  const versus = intent.kind === 'figure' && intent.versus ? ` against ${intent.versus.label}` : '';
  const parts = [
    base.name.replaceAll('_', ' '),
    ...conditions.map(({ label }) => label),
    ...hits.map(({ column, value }) => `${column.replaceAll('_', ' ')} ${value}`),
    ...(span ? [`${span.column.replaceAll('_', ' ')} ${spanLabel(span.period)}${versus}`] : []),
    ...(comparison ? [`${comparison.operator} ${comparison.number}`] : []),
  ];
  return parts.join(', ');
}

const spanLabel = ({ label }: Period) =>
  (/^(since|after|before)/.test(label) ? label : `in ${label}`).replace(
    /^in (today|yesterday|tomorrow|this|last|next|past|previous|current|coming)/,
    '$1',
  );
