import type { Comparison, Figure, Intent, Listing, Span, Without } from '../question/intent.ts';
import { type Dimension, labelColumn, labelOf } from '../schema/dimensions.ts';
import { type ColumnKind, columnName, literal, pathTo, type Schema, type Table, tableOf } from '../schema/schema.ts';
import type { Hit } from '../schema/values.ts';
import type { Grain, Period } from '../words/periods.ts';
import { pluralOf } from '../words/words.ts';

interface Statement {
  readonly sql: string;
  /** The titles of the answer's columns. Further columns hold the first and last days of the periods. */
  readonly titles: readonly string[];
}

const formats: Readonly<Record<Grain, string>> = {
  day: 'YYYY-MM-DD',
  week: 'IYYY-"W"IW',
  month: 'YYYY-MM',
  quarter: 'YYYY-"Q"Q',
  year: 'YYYY',
};

/** The query that answers the intent. It reads one more row than is displayed, which shows whether there are more. */
export function statementOf(intent: Intent, schema: Schema): Statement {
  if (intent.kind === 'list') return listStatement(intent, schema);
  return intent.countGroups ? groupsStatement(intent, schema) : figureStatement(intent, schema);
}

const rowsOf = ({ limit, limited }: Intent) => (limited ? limit : limit + 1);

function figureStatement(figure: Figure, schema: Schema): Statement {
  const { select, rest } = figureParts(figure, schema);
  const positions = figure.dimensions.map((_, index) => String(index + 1)).join(', ');
  const order =
    figure.order === 'time'
      ? positions
      : `${figure.dimensions.length + 1} ${figure.order === 'least' ? 'asc' : 'desc'} nulls last, ${positions}`;
  const sql = [
    `select ${[...select, ...datesSql(figure)].join(', ')}`,
    rest,
    positions === '' ? '' : `order by ${order} limit ${rowsOf(figure)}`,
  ];
  const titles = [...figure.dimensions.map((dimension) => labelOf(dimension, schema)), ...figureTitles(figure)];
  return { sql: sql.filter(Boolean).join(' '), titles };
}

/** The first and last days of the spans, so that a reader sees which days were counted and compared. */
function datesSql({ versus, span }: Figure): string[] {
  return [span?.period, versus].flatMap((period) => {
    if (period?.from === undefined || period.to === undefined) return [];
    const day = (sql: string) => `to_char(${sql}, 'YYYY-MM-DD')`;
    return [`${day(period.from)} || ' to ' || ${day(`${period.to} - interval '1 day'`)}`];
  });
}

function groupsStatement(figure: Figure, schema: Schema): Statement {
  const { select, rest } = figureParts(figure, schema);
  const [dimension] = figure.dimensions;
  const of = dimension ? labelOf(dimension, schema) : 'groups';
  return { sql: `select count(*) from (select ${select[0]} as name ${rest}) groups`, titles: [`number of ${pluralOf(of)}`] };
}

function figureParts(figure: Figure, schema: Schema): { select: string[]; rest: string } {
  const tables = new Tables(figure.base, schema);
  const dimensions = figure.dimensions.map((dimension) => dimensionSql(dimension, figure, tables));
  const amount = figure.amount?.sql((name) => tables.alias(name));
  const numbers = numbersSql(figure, amount, tables);
  const where = conditionsSql(figure, tables, amount, figure.versus === undefined);
  const keys = figure.dimensions.flatMap((dimension) => rowKey(dimension, schema, tables));
  const groups = [...dimensions, ...keys].join(', ');
  const having = figure.having ? `having ${comparisonSql(numbers[0] as string, figure.having)}` : '';
  const rest = [tables.sql, where, groups === '' ? '' : `group by ${groups}`, having].filter(Boolean).join(' ');
  return { select: [...dimensions, ...numbers], rest };
}

/** Two rows with the same name are two groups. */
function rowKey(dimension: Dimension, schema: Schema, tables: Tables): string[] {
  if (dimension.kind === 'time') return [];
  const table = tableOf(schema, dimension.table);
  const isLabel = table !== undefined && labelColumn(table)?.name === dimension.column && dimension.column !== 'id';
  return isLabel && table.columns.some(({ name }) => name === 'id') ? [tables.column(dimension.table, 'id')] : [];
}

function numbersSql(figure: Figure, amount: string | undefined, tables: Tables): string[] {
  const { versus, span, change, share, rate } = figure;
  if (rate) return [`round(100.0 * count(*) filter (where ${valuesSql(figure.hits, tables).join(' and ')}) / nullif(count(*), 0), 1)`];
  if (versus && span) {
    const [now, then] = [valueSql(figure, amount, span, tables), valueSql(figure, amount, { ...span, period: versus }, tables)];
    return [now, then, ...(change ? [`round(100.0 * (${now} - ${then}) / nullif(${then}, 0), 1)`] : [])];
  }
  const value = valueSql(figure, amount, undefined, tables);
  return share ? [value, `round(100.0 * ${value} / nullif(sum(${value}) over (), 0), 1)`] : [value];
}

function dimensionSql(dimension: Dimension, { day }: Figure, tables: Tables): string {
  if (dimension.kind === 'column') return displayedSql(tables.column(dimension.table, dimension.column), dimension.type);
  // The interpretation has verified that there is a day.
  const column = day ? tables.column(day.table, day.column) : 'current_date';
  return `to_char(date_trunc('${dimension.grain}', ${column}), '${formats[dimension.grain]}')`;
}

const displayedSql = (column: string, kind: ColumnKind): string =>
  kind === 'boolean' ? `case when ${column} then 'yes' when not ${column} then 'no' end` : column;

function valueSql({ operation, distinct }: Figure, amount: string | undefined, only: Span | undefined, tables: Tables): string {
  const during = only ? spanSql(only, (name) => tables.column(only.table, name)).join(' and ') : '';
  const filter = during === '' ? '' : ` filter (where ${during})`;
  if (distinct) return `count(distinct ${tables.column(distinct.table, distinct.column)})${filter}`;
  if (operation === 'count' || amount === undefined) return `count(*)${filter}`;
  if (operation === 'avg') return `round(avg(${amount})${filter}::numeric, 2)`;
  if (operation === 'median') return `round((percentile_cont(0.5) within group (order by ${amount})${filter})::numeric, 2)`;
  return operation === 'sum' ? `coalesce(sum(${amount})${filter}, 0)` : `${operation}(${amount})${filter}`;
}

const mostColumns = 9;

function listStatement(list: Listing, schema: Schema): Statement {
  const tables = new Tables(list.base, schema);
  const displayed = displayedColumns(list.base, schema).slice(0, mostColumns);
  const columns = displayed.map(({ table, column, kind }) => displayedSql(tables.column(table, column), kind));
  const where = conditionsSql(list, tables, undefined, true);
  const { orderBy } = list;
  const first = orderBy ? `${tables.column(list.base.name, orderBy.column)} ${orderBy.descending ? 'desc' : 'asc'} nulls last, 1` : '1';
  return {
    sql: [`select ${columns.join(', ')}`, tables.sql, where, `order by ${first} limit ${rowsOf(list)}`].filter(Boolean).join(' '),
    titles: distinct(displayed.map(({ title }) => title)),
  };
}

/** In JSON the titles are names of fields, so they must differ. */
const distinct = (titles: readonly string[]): string[] =>
  titles.map((title, index) => (titles.indexOf(title) === index ? title : `${title} (${index + 1})`));

interface DisplayedColumn {
  readonly table: string;
  readonly column: string;
  readonly kind: ColumnKind;
  readonly title: string;
}

/** The columns of a row for readers, with names instead of keys. */
function displayedColumns(base: Table, schema: Schema): DisplayedColumn[] {
  const label = labelColumn(base);
  // Rows without a name are identified by their ids.
  const own = base.columns.filter(({ name, kind }) => kind !== 'other' && (name !== 'id' || label?.name === 'id'));
  const displayed = own
    .toSorted((a, b) => Number(b.name === label?.name) - Number(a.name === label?.name))
    .flatMap(({ name, kind }) => {
      const key = base.foreignKeys.find(({ column }) => column === name);
      const target = key && tableOf(schema, key.table);
      const named = target && labelColumn(target);
      if (named && target !== base)
        return [{ table: target.name, column: named.name, kind: named.kind, title: name.replace(/_id$/, '').replaceAll('_', ' ') }];
      return name.endsWith('_id') ? [] : [{ table: base.name, column: name, kind, title: name.replaceAll('_', ' ') }];
    });
  const [first] = base.columns;
  return displayed.length > 0 || !first ? displayed : [{ table: base.name, column: first.name, kind: first.kind, title: first.name }];
}

function spanSql({ column, until, period }: Span, columnOf: (name: string) => string): string[] {
  const start = columnOf(column);
  const end = until ? columnOf(until) : start;
  return [...(period.from ? [`${end} >= ${period.from}`] : []), ...(period.to ? [`${start} < ${period.to}`] : [])];
}

/** The rows that count. With two spans the numbers filter their own span. */
function conditionsSql(intent: Intent, tables: Tables, amount: string | undefined, withSpan: boolean): string {
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

const comparisonSql = (compared: string, { operator, number, to }: Comparison): string =>
  to === undefined ? `${compared} ${operator} ${number}` : `${compared} between ${number} and ${to}`;

/** Several values of one column are alternatives. */
function valuesSql(hits: readonly Hit[], tables: Tables): string[] {
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

/** Tables of a statement: the base, and those that are joined along keys. */
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

  column(table: string, column: string): string {
    return `${this.alias(table)}.${columnName(column)}`;
  }

  #join(from: string, to: string, column: string, references: string): void {
    const alias = `t${this.#aliases.size}`;
    const on = `${alias}.${columnName(references)} = ${this.#aliases.get(from)}.${columnName(column)}`;
    this.#joins.push(`left join ${tableOf(this.#schema, to)?.written} ${alias} on ${on}`);
    this.#aliases.set(to, alias);
  }

  get sql(): string {
    return [`from ${this.#base.written} t0`, ...this.#joins].join(' ');
  }
}

const spoken = (name: string) => name.replaceAll(/[_.]/g, ' ');

function titleOf({ operation, amount, base, distinct }: Figure): string {
  const what = amount?.label ?? spoken(base.name);
  if (operation === 'count') return `number of ${spoken(distinct?.table ?? base.name)}`;
  if (operation === 'sum') return amount?.named ? what : what === 'total' ? `total of ${spoken(base.name)}` : `total ${what}`;
  return `${{ avg: 'average', median: 'median', min: 'lowest', max: 'highest' }[operation]} ${what}`;
}

/** The titles of a figure's numbers, in order. */
function figureTitles(figure: Figure): string[] {
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

/** The order of a limited list. */
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
