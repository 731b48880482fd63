import type { Dimension, Intent, Quantity, Span } from '../meaning/intent.ts';
import { columnDimension, isLabelOf, labelDimension } from '../question/groups.ts';
import type { Unit } from '../schema/concepts.ts';
import type { ColumnSql } from '../schema/expression.ts';
import { isMoney, labelColumn, labelColumns } from '../schema/roles.ts';
import {
  type Column,
  type ColumnKind,
  columnName,
  columnOf,
  type ForeignKey,
  type Path,
  pathTo,
  type Schema,
  type Table,
  tableOf,
} from '../schema/schema.ts';
import { type Period, periodSql, type TimeGroup } from '../words/grains.ts';
import { pluralOf, stemsOfName, toWords } from '../words/words.ts';

/** A column of an answer. */
export interface Title {
  readonly title: string;
  readonly unit?: Unit | 'time' | undefined;
  /** An ISO code, where the column's name says it. */
  readonly currency?: string | undefined;
  /** Its cells are texts, also those that look like numbers. */
  readonly isText?: true;
}

interface Statement {
  readonly sql: string;
  /**
   * The titles of the answer's columns. Further columns hold the number of all rows of a list and what they are ordered by, and the first and
   * last days of the periods.
   */
  readonly titles: readonly Title[];
  /** The column by which rows are ranked. */
  readonly ranked?: number;
}

const formats: Readonly<Record<TimeGroup, string>> = {
  day: 'YYYY-MM-DD',
  week: 'IYYY-"W"IW',
  month: 'YYYY-MM',
  quarter: 'YYYY-"Q"Q',
  year: 'YYYY',
  weekday: 'FMDay',
};

/** The query that answers the intent. It reads one more row than is displayed, which shows whether there are more. */
export function statementOf(intent: Intent, schema: Schema): Statement {
  if (intent.shape === 'list') return listStatement(intent, schema);
  return intent.ofGroups ? groupsStatement(intent, schema) : figureStatement(intent, schema);
}

function figureStatement(intent: Intent, schema: Schema): Statement {
  const { select, rest, positions } = figureParts(intent, schema);
  const { dimensions } = intent;
  const time =
    intent.order === 'time' ? positions : `${dimensions.length + 1} ${intent.order === 'least' ? 'asc' : 'desc'} nulls last, ${positions}`;
  const sql = [
    `select ${[...select, ...datesSql(intent)].join(', ')}`,
    rest,
    dimensions.length === 0 ? '' : `order by ${time} limit ${intent.limit + 1}`,
  ];
  const titles = [
    ...dimensions.map(
      (dimension, index): Title => ({
        title: dimensionTitle(dimension, schema, dimensions.slice(0, index)),
        ...(dimension.kind === 'time' && dimension.grain !== 'weekday' && { unit: 'time' }),
        ...(dimension.kind === 'column' && dimension.type === 'text' && { isText: true }),
      }),
    ),
    ...figureTitles(intent),
  ];
  return { sql: sql.filter(Boolean).join(' '), titles, ...(intent.order !== 'time' && { ranked: dimensions.length }) };
}

/** The first and last days of the spans, so that a reader sees which days were counted and compared, and the current day beside them. */
function datesSql({ versus, span }: Intent): string[] {
  const day = (sql: string) => `to_char(${sql}, 'YYYY-MM-DD')`;
  const days = [span?.period, versus].flatMap((period) => {
    if (period?.from === undefined) return [];
    if (period.to === undefined) return [`'from ' || ${day(period.from)}`];
    return [`${day(period.from)} || ' to ' || ${day(`${period.to} - interval '1 day'`)}`];
  });
  return days.length > 0 ? [...days, day('current_date')] : [];
}

function groupsStatement(intent: Intent, schema: Schema): Statement {
  const { select, rest } = figureParts(intent, schema);
  const [dimension] = intent.dimensions;
  const of = dimension ? dimensionTitle(dimension, schema) : 'groups';
  const [title] = figureTitles(intent);
  const [figure, name] =
    intent.ofGroups === 'count'
      ? ['count(*)', { title: `number of ${pluralOf(of)}` }]
      : [roundedSql('avg(g.figure)', intent.quantity?.unit), { ...title, title: `average ${title?.title ?? ''} per ${of}` }];
  return {
    sql: `select ${[figure, ...datesSql(intent)].join(', ')} from (select ${select[1]} as figure ${rest}) g`,
    titles: [name],
  };
}

function figureParts(intent: Intent, schema: Schema): { select: string[]; rest: string; positions: string } {
  const tables = new Tables(intent.base, schema);
  const dimensions = intent.dimensions.map((dimension) => dimensionSql(dimension, intent, tables));
  const numbers = numbersSql(intent, tables);
  const having = havingSql(intent, numbers[0] as string, tables);
  const where = whereSql(intent, tables, intent.versus === undefined, ownerSql(intent, schema, tables));
  const keys = intent.dimensions.flatMap((dimension) => rowKey(dimension, schema, tables));
  const groups = [...dimensions, ...keys].join(', ');
  const { day } = intent;
  // Monday comes first, and not Friday.
  const positions = intent.dimensions.map((one, index) =>
    one.kind === 'time' && one.grain === 'weekday' && day
      ? `min(extract(isodow from ${tables.column(day.table, day.column)}))`
      : String(index + 1),
  );
  return {
    select: [...dimensions, ...numbers],
    positions: positions.join(', '),
    rest: [tables.sql, where, groups === '' ? '' : `group by ${groups}`, having].filter(Boolean).join(' '),
  };
}

function havingSql({ having }: Intent, number: string, tables: Tables): string {
  if (!having) return '';
  if ('sql' in having) return `having ${number} ${having.sql(tables.column)}`;
  const { operator, number: limit, to } = having;
  return to === undefined ? `having ${number} ${operator} ${limit}` : `having ${number} between ${limit} and ${to}`;
}

/**
 * Orders without a customer, or without a day, are of no customer or month: they are not counted or ranked as one, nor a part of an average
 * per customer.
 */
function ownerSql({ base, day, dimensions, ofGroups, having, limited, order, share }: Intent, schema: Schema, tables: Tables): string[] {
  const isRanked = limited && order !== 'time' && !share;
  if (!ofGroups && !having && !isRanked) return [];
  return dimensions.flatMap((dimension) => {
    if (dimension.kind === 'time') return day ? [`${tables.column(day.table, day.column)} is not null`] : [];
    const table = dimension.table === base.name ? undefined : tableOf(schema, dimension.table);
    const key = table && isLabelOf(table, dimension) ? tables.key(table) : undefined;
    return table && key !== undefined ? [`${tables.column(table.name, key)} is not null`] : [];
  });
}

/** Two rows with the same name are two groups. */
function rowKey(dimension: Dimension, schema: Schema, tables: Tables): string[] {
  if (dimension.kind === 'time') return [];
  const table = tableOf(schema, dimension.table);
  const key = table && isLabelOf(table, dimension) ? tables.key(table) : undefined;
  return key === undefined || key === dimension.column ? [] : [tables.column(dimension.table, key)];
}

function numbersSql(intent: Intent, tables: Tables): string[] {
  const { versus, span, share, rate } = intent;
  const value = valueSql(intent, tables, []);
  if (rate)
    return [
      `round(100.0 * ${valueSql(
        intent,
        tables,
        rate.map(({ sql }) => sql(tables.column)),
      )} / nullif(${value}, 0), 1)`,
    ];
  if (versus && span) {
    const [now, before] = [
      valueSql(intent, tables, spanSql(span, tables)),
      valueSql(intent, tables, spanSql({ ...span, period: versus }, tables)),
    ];
    // The change has the sign of the difference, also from a negative figure.
    return [now, before, `${now} - ${before}`, `round(100.0 * (${now} - ${before}) / nullif(abs(${before}), 0), 1)`];
  }
  return share ? [value, `round(100.0 * ${value} / nullif(sum(${value}) over (), 0), 1)`] : [value];
}

function dimensionSql(dimension: Dimension, { day }: Intent, tables: Tables): string {
  if (dimension.kind === 'column') {
    const { table, column, type, lastName } = dimension;
    return displayedSql(tables.column(table, column), type, lastName && tables.column(table, lastName));
  }
  const column = day ? tables.column(day.table, day.column) : 'current_date';
  const first = dimension.grain === 'weekday' ? column : `date_trunc('${dimension.grain}', ${column})`;
  return `to_char(${first}, '${formats[dimension.grain]}')`;
}

function displayedSql(column: string, kind: ColumnKind, lastName?: string): string {
  if (lastName) return `nullif(concat_ws(' ', ${column}, ${lastName}), '')`;
  return kind === 'boolean' ? `case when ${column} then 'yes' when not ${column} then 'no' end` : column;
}

/** The figure over the rows that fit further conditions. */
function valueSql({ operation, distinct, quantity }: Intent, tables: Tables, only: readonly string[]): string {
  const filter = only.length === 0 ? '' : ` filter (where ${only.join(' and ')})`;
  if (distinct) return `count(distinct ${tables.column(distinct.table, distinct.column)})${filter}`;
  if (!quantity || (operation === 'count' && !quantity.per)) return `count(*)${filter}`;
  const amount = quantity.value.sql(tables.column);
  if (quantity.per) {
    // The revenue of a line without a cost would be all profit.
    const both = ` filter (where ${[...only, `(${amount}) is not null`].join(' and ')})`;
    return `round(100.0 * sum(${amount})${filter} / nullif(sum(${quantity.per.sql(tables.column)})${both}, 0), 1)`;
  }
  if (operation === 'avg') return roundedSql(`avg(${amount})${filter}::numeric`, quantity.unit);
  if (operation === 'median')
    return roundedSql(`(percentile_cont(0.5) within group (order by ${amount})${filter})::numeric`, quantity.unit);
  return operation === 'sum' ? `coalesce(sum(${amount})${filter}, 0)` : `${operation}(${amount})${filter}`;
}

/** Two decimals, and more of a small figure such as a rate. Amounts of money and numbers of days or pieces need no more. */
function roundedSql(figure: string, unit: Unit | undefined): string {
  const rounded = `round(${figure}, 2)`;
  const isExact = unit !== undefined && unit !== 'percent';
  return isExact ? rounded : `case when abs(${figure}) < 0.1 then trim_scale(round(${figure}, 6)) else ${rounded} end`;
}

const maxColumns = 9;

function listStatement(intent: Intent, schema: Schema): Statement {
  const tables = new Tables(intent.base, schema);
  const displayed = displayedColumns(intent.base, schema).slice(0, maxColumns);
  const computed = intent.quantity && intent.quantity.column === undefined ? [intent.quantity] : [];
  const columns = [
    ...displayed.map(({ table, column, kind, lastName, key }) => {
      const of = (name: string) => (key ? tables.along([key], name) : tables.column(table, name));
      return displayedSql(of(column), kind, lastName && of(lastName));
    }),
    ...computed.map(({ value, per }) =>
      per ? `round(100.0 * (${value.sql(tables.column)}) / nullif(${per.sql(tables.column)}, 0), 1)` : value.sql(tables.column),
    ),
  ];
  const { orderBy } = intent;
  const ordered = computed.length > 0 ? columns.at(-1) : orderBy?.column.sql(tables.column);
  const first = orderBy ? `${ordered} ${orderBy.descending ? 'desc' : 'asc'} nulls last, 1` : '1';
  const where = whereSql(intent, tables, true);
  const titles = [...distinctTitles(displayed), ...computed.map((quantity) => ({ title: quantity.label, unit: quantity.unit }))];
  return {
    sql: [
      `select ${[...columns, 'count(*) over ()', ordered ?? 'null', ...datesSql(intent)].join(', ')}`,
      tables.sql,
      where,
      `order by ${first} limit ${intent.limit + 1}`,
    ]
      .filter(Boolean)
      .join(' '),
    titles,
    ...(orderBy && { ranked: titles.length + 1 }),
  };
}

interface DisplayedColumn {
  readonly table: string;
  readonly column: string;
  readonly kind: ColumnKind;
  readonly lastName?: string | undefined;
  /** The key of the base that leads to its row; two keys may lead to one table. */
  readonly key?: ForeignKey;
  readonly title: string;
}

function displayedColumns(base: Table, schema: Schema): DisplayedColumn[] {
  const label = labelColumn(base);
  // Rows without a name are identified by their ids, also by one that is called order_id.
  const isOwnKey = ({ name }: Column) => /_id$/.test(name) && base.foreignKeys.every(({ column }) => column !== name);
  const ownKey = labelColumns(base).length === 0 ? base.columns.find(isOwnKey) : undefined;
  const own = base.columns.filter(({ name, kind }) => kind !== 'other' && (name !== 'id' || label?.name === 'id'));
  const displayed = own
    .toSorted((a, b) => Number(b.name === label?.name) - Number(a.name === label?.name))
    .flatMap(({ name, kind }) => {
      const key = base.foreignKeys.find(({ column }) => column === name);
      const target = key && tableOf(schema, key.table);
      const named = target && target !== base ? labelDimension(target) : undefined;
      if (key && named) return [{ ...named, kind: named.type, key, title: toWords(name.replace(/_id$/, '')) }];
      return name.endsWith('_id') && name !== ownKey?.name ? [] : [{ table: base.name, column: name, kind, title: toWords(name) }];
    });
  const [first] = base.columns;
  return displayed.length > 0 || !first ? displayed : [{ table: base.name, column: first.name, kind: first.kind, title: first.name }];
}

function distinctTitles(columns: readonly DisplayedColumn[]): Title[] {
  return columns.map(({ title, table, column, kind }, index) => {
    const isRepeated = columns.slice(0, index).some((one) => one.title === title);
    const isAmount = kind === 'number' && isMoney({ name: column, kind });
    return {
      title: isRepeated ? `${title} of ${toWords(table)}` : title,
      ...(isAmount && { unit: 'money', currency: currencyOf(column) }),
      ...(kind === 'text' && { isText: true }),
    };
  });
}

function spanSql({ table, column, until, period }: Span, tables: Tables): string[] {
  return periodSql(period, tables.column(table, column), until && tables.column(table, until));
}

/** The rows that count. With two spans each number filters its own span. */
function whereSql({ conditions, span }: Intent, tables: Tables, withSpan: boolean, more: readonly string[] = []): string {
  const all = [...conditions.map(({ sql }) => sql(tables.column)), ...(span && withSpan ? spanSql(span, tables) : []), ...more];
  return all.length > 0 ? `where ${all.join(' and ')}` : '';
}

/** Tables of a statement: the base, and those that are joined along keys; a table is joined once for each way that leads to it. */
class Tables {
  /** By the keys that lead from the base to them. */
  readonly #aliases = new Map<string, string>();
  readonly #joins: string[] = [];
  readonly #base: Table;
  readonly #schema: Schema;

  constructor(base: Table, schema: Schema) {
    this.#base = base;
    this.#schema = schema;
    this.#aliases.set('', 't0');
  }

  /** The column by which the rows of a table differ: the one that keys refer to. */
  key({ name, columns }: Table): string | undefined {
    const path = pathTo(this.#schema, this.#base, name);
    return path?.at(-1)?.references ?? columns.find((column) => column.name === 'id')?.name;
  }

  column: ColumnSql = (table, column) => {
    const path = pathTo(this.#schema, this.#base, table);
    if (!path) throw new Error(`no key leads from ${this.#base.name} to ${table}`);
    return this.along(path, column);
  };

  along = (path: Path, column: string): string => `${this.#alias(path)}.${columnName(column)}`;

  #alias(path: Path): string {
    const way = path.map((key) => `${key.column} ${key.table}`).join(', ');
    const known = this.#aliases.get(way);
    const key = path.at(-1);
    if (known || !key) return known as string;
    const from = this.#alias(path.slice(0, -1));
    const alias = `t${this.#aliases.size}`;
    this.#joins.push(
      `left join ${tableOf(this.#schema, key.table)?.written} ${alias} on ${alias}.${columnName(key.references)} = ${from}.${columnName(key.column)}`,
    );
    this.#aliases.set(way, alias);
    return alias;
  }

  get sql(): string {
    return [`from ${this.#base.written} t0`, ...this.#joins].join(' ');
  }
}

function dimensionTitle(dimension: Dimension, schema: Schema, before: readonly Dimension[] = []): string {
  if (dimension.kind === 'time') return dimension.grain;
  const table = tableOf(schema, dimension.table);
  const title = table && isLabelOf(table, dimension) ? stemsOfName(dimension.table).join(' ') : toWords(dimension.column);
  return before.some((one) => dimensionTitle(one, schema) === title) ? `${title} of ${toWords(dimension.table)}` : title;
}

const codes = /_(eur|usd|gbp|chf|sek|nok|dkk|pln|jpy)\b/i;
const currencyOf = (text: string): string | undefined => codes.exec(text)?.[1]?.toUpperCase();

function titleOf({ operation, quantity, base, distinct }: Intent): string {
  if (!quantity) return `number of ${toWords(distinct ? targetOf(base, distinct.column) : base.name)}`;
  const what = quantity.label;
  if (quantity.per) return what;
  if (operation === 'sum')
    return quantity.isTerm ? `${what}${minorUnitOf(quantity)}` : what === 'total' ? `total of ${toWords(base.name)}` : `total ${what}`;
  if (operation === 'count') return what;
  return `${{ avg: 'average', median: 'median', min: 'lowest', max: 'highest' }[operation]} ${what}${minorUnitOf(quantity)}`;
}

/** The name of a term says nothing of the hundredths in which its column holds an amount. */
const minorUnitOf = ({ isTerm, value }: Quantity): string => {
  const unit = isTerm ? /_(cents?|pence)\b/i.exec(value.sql((_, column) => `_.${column}`))?.[1] : undefined;
  return unit === undefined ? '' : ` in ${unit.toLowerCase()}`;
};

const targetOf = (base: Table, column: string): string => base.foreignKeys.find((key) => key.column === column)?.table ?? base.name;

/** The titles of a figure's numbers, in order. */
function figureTitles(intent: Intent): Title[] {
  const { versus, span, share, rate, quantity, base } = intent;
  const currency = quantity && currencyOf(quantity.value.sql((_, column) => `_.${column}`));
  const unit = quantity?.unit;
  if (rate) return [{ title: `share of ${quantity?.label ?? toWords(base.name)} in %`, unit: 'percent' }];
  const title = titleOf(intent);
  if (versus && span)
    return [
      { title: `${title}, ${span.period.label}`, unit, currency },
      { title: `${title}, ${versus.label}`, unit, currency },
      { title: 'difference', unit, currency },
      { title: 'change in %', unit: 'percent' },
    ];
  return [{ title, unit, currency }, ...(share ? [{ title: 'share in %', unit: 'percent' as const }] : [])];
}

/** Groups by another column, to explain a change or find what the rows have. */
export const groupedBy = (intent: Intent, table: Table, column: string, versus: Period | undefined): Intent => {
  const grouped = columnOf(table, column);
  return { ...intent, dimensions: grouped ? [columnDimension(table, grouped)] : [], versus, order: 'most', limit: 50, limited: false };
};
