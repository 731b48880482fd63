import { type Concept, concepts, type FigureSource, type Operation, type StatusTest } from '../schema/concepts.ts';
import { type Condition, columnExpression, type Expression, expressionOf } from '../schema/expression.ts';
import { beginDate, birthDate, daysColumn, dueDate, endDate, isKey, isMoney, mainNumber } from '../schema/roles.ts';
import { columnOf, literal, pathTo, reachable, type Schema, type Table, tableOf } from '../schema/schema.ts';
import { toWords } from '../words/words.ts';
import type { Day, Quantity } from './intent.ts';
import type { ColumnMeaning, Tile, Vocabulary } from './tiles.ts';

type Data = Pick<Vocabulary, 'schema' | 'index'>;

/** A possible subject of a question: rows of a table, and the figure that is computed of them. */
export interface Candidate {
  readonly base: Table;
  readonly quantity: Quantity | undefined;
  readonly operation: Operation | undefined;
  readonly conditions: readonly Condition[];
  /** The tiles that name it. */
  readonly tiles: readonly number[];
  /** Rows of the base are counted by the rows of another table to which they refer. */
  readonly distinct?: Day;
  /** The table to whose rows the figure belongs: customers with more than ten orders. */
  readonly subject?: Table;
  readonly assumed?: string;
  /** A term of business names it. */
  readonly isTerm?: true;
}

/** Every candidate that the tiles name, the more telling ones first. */
export function candidatesOf(tiles: readonly Tile[], data: Data): Candidate[] {
  const { schema } = data;
  const terms = tiles.flatMap((tile, at) => tile.concepts.flatMap((concept) => candidatesOfConcept(concept, at, data)));
  const columns = tiles.flatMap((tile, at) =>
    ownersFirst(tile.columns, schema).flatMap((meaning) =>
      candidatesOfColumn(meaning, at).map((one) => ({ ...one, ...choiceOf(meaning, tile, tiles) })),
    ),
  );
  const tables = tiles.flatMap((tile, at) => tile.tables.map((table) => ({ table, at })));
  const rows = tables.map(({ table, at }): Candidate => ({ ...rowsOf(table), tiles: [at] }));
  const amounts = tables.flatMap(({ table, at }) => amountOf(table, at));
  const related = relatedOf(tiles, tables, schema);
  const implied = tiles.flatMap((tile) => [
    ...ownersFirst(tile.columns, schema).map(({ table }) => table),
    ...tile.values.map(({ table }) => tableOf(schema, table)),
    ...tile.days.map(({ table }) => table),
  ]);
  const silent = [...new Set(implied)].toSorted(viewsLast).flatMap((table) => (table ? [{ ...rowsOf(table), tiles: [] }] : []));
  // Who has the most customers is not the best by revenue.
  const best = tiles.some(({ tags, words }) => tags.includes('most') && !/^most/.test(words[0]?.lower ?? ''))
    ? tables.flatMap(({ table }) => bestOf(table, data))
    : [];
  return [
    ...durationsOf(tiles, schema),
    ...terms,
    ...columns,
    ...(tiles.some(({ tags }) => tags.includes('count')) ? [...related, ...rows] : [...rows, ...related]),
    ...amounts,
    ...best,
    ...silent,
  ];
}

/** The figure by which the best rows of a table are usually found. */
const bestBy = new Map(Object.entries({ customers: 'revenue', products: 'units sold', suppliers: 'purchasing spend' }));

function bestOf({ name }: Table, data: Data): Candidate[] {
  const concept = concepts.find(({ label }) => label === bestBy.get(name));
  return concept
    ? candidatesOfConcept(concept, -1, data).map((candidate) => ({ ...candidate, tiles: [], assumed: `the best by ${concept.label}` }))
    : [];
}

const rowsOf = (base: Table): Omit<Candidate, 'tiles'> => ({ base, quantity: undefined, operation: undefined, conditions: [] });

/** The candidates of a term of business, one for each of its sources that the schema has. */
export function candidatesOfConcept(concept: Concept, at: number, { schema, index }: Data): Candidate[] {
  return concept.sources(schema).flatMap((source) => {
    const base = tableOf(schema, source.base);
    const quantity = base && quantityOf(source, concept, base, schema);
    const limits = base && limitsOf(source, base, { schema, index });
    if (!base || quantity === null || !limits) return [];
    return [{ base, quantity, operation: source.operation, ...limits, tiles: [at], isTerm: true as const }];
  });
}

/** Undefined where rows are counted, null where a column is missing. */
function quantityOf({ value, per }: FigureSource, { label, unit }: Concept, base: Table, schema: Schema): Quantity | undefined | null {
  if (value === undefined) return undefined;
  const [expression, divisor] = [expressionOf(value, base, schema), per === undefined ? undefined : expressionOf(per, base, schema)];
  if (!expression || (per !== undefined && !divisor)) return null;
  const column = /^\w+\.(\w+)$/.exec(value)?.[1];
  return { label, isTerm: true, unit, value: expression, per: divisor, column };
}

/** Undefined where a column is missing, or has none of the values that the figure needs. */
function limitsOf({ where = [] }: FigureSource, base: Table, data: Data): Pick<Candidate, 'conditions' | 'assumed'> | undefined {
  const conditions: Condition[] = [];
  for (const test of where) {
    const limit = 'column' in test ? statusLimit(test, data) : { template: test[0], key: test[0], label: test[1] };
    const expression = limit && expressionOf(limit.template, base, data.schema);
    if (limit && expression) conditions.push({ ...expression, key: `term ${limit.key}`, label: limit.label });
    else if ('column' in test && test.otherwise && expressionOf(test.column, base, data.schema))
      return { conditions, assumed: test.otherwise };
    else return undefined;
  }
  return { conditions };
}

/** The index says how the data spells the words; the statement compares them in lower case, since the index is a sample. */
function statusLimit({ column, words, isExcluded, noun }: StatusTest, { schema, index }: Data) {
  const [table, name] = column.split('.') as [string, string];
  const owner = tableOf(schema, table);
  if (!owner || columnOf(owner, name)?.kind !== 'text') return undefined;
  const values = index.fewOf(table, name).map((value) => value.toLowerCase());
  const present = words.filter((word) => values.includes(word));
  const isKnown = values.length > 0;
  const names = present.length > 0 ? present.join(' and ') : (words[0] as string);
  const list = words.map(literal).join(', ');
  const key = `${column} ${isExcluded ? '<>' : '='} '${words.join('|')}'`;
  if (!isExcluded)
    return isKnown && present.length === 0
      ? undefined
      : { template: `lower(${column}::text) in (${list})`, key, label: `${names} ${noun}` };
  const label = isKnown && present.length === 0 ? `${toWords(name)} other than ${names}` : `without ${names} ${noun}`;
  return { template: `coalesce(lower(${column}::text), '') not in (${list})`, key, label };
}

export const quantityOfColumn = ({ table, column }: ColumnMeaning): Quantity => ({
  label: toWords(column.name),
  isTerm: false,
  unit: isMoney(column) ? 'money' : undefined,
  value: columnExpression(table.name, column.name),
  column: column.name,
});

function candidatesOfColumn({ table, column }: ColumnMeaning, at: number): Candidate[] {
  if (column.kind !== 'number' || isKey(column)) return [];
  return [{ base: table, quantity: quantityOfColumn({ table, column }), operation: undefined, conditions: [], tiles: [at] }];
}

/** Says which of several tables the number is of, where no word names that table. */
function choiceOf({ table, column }: ColumnMeaning, tile: Tile, tiles: readonly Tile[]): Pick<Candidate, 'assumed'> {
  const others = tile.columns.filter((one) => one.table !== table && one.column.name === column.name && one.column.kind === 'number');
  if (others.length === 0 || tiles.some(({ tables }) => tables.includes(table))) return {};
  const names = others.slice(0, maxOthers).map((one) => toWords(one.table.name));
  return { assumed: `${toWords(column.name)}: that of ${toWords(table.name)}, not of ${names.join(' or ')}` };
}

const maxOthers = 3;

/** The price of a chair is that of the product, before that of a line of an order which refers to it. */
const ownersFirst = (meanings: readonly ColumnMeaning[], schema: Schema): ColumnMeaning[] => {
  const depthOf = ({ table, column }: ColumnMeaning) =>
    meanings.filter((one) => one.table !== table && one.column.name === column.name && pathTo(schema, table, one.table.name)).length;
  const depths = new Map(meanings.map((meaning) => [meaning, depthOf(meaning)]));
  return meanings.toSorted((a, b) => viewsLast(a.table, b.table) || (depths.get(a) ?? 0) - (depths.get(b) ?? 0));
};

/** A view may leave rows out that its tables have. */
const viewsLast = (a: Table | undefined, b: Table | undefined): number => Number(a?.isView ?? false) - Number(b?.isView ?? false);

/** The number that a table is mostly about: what orders are worth. */
function amountOf(table: Table, at: number): Candidate[] {
  const column = mainNumber(table);
  if (!column || !isMoney(column) || !/(total|amount|value)/.test(column.name)) return [];
  return [{ base: table, quantity: quantityOfColumn({ table, column }), operation: undefined, conditions: [], tiles: [at] }];
}

/** The tables of what was sold or bought; revenue is a figure and says nothing of single rows. */
export const tablesOfTerms = ({ concepts: named, words }: Tile, schema: Schema): Table[] =>
  named.flatMap((one) =>
    words.every(({ stem }) => !/^(revenue|sale|turnover)$/.test(stem)) && /revenue|units sold/.test(one.label)
      ? one.sources(schema).flatMap(({ base }) => tableOf(schema, base) ?? [])
      : [],
  );

/** Rows that are counted for another table: customers that have orders, invoices that were paid late. */
function relatedOf(tiles: readonly Tile[], tables: readonly { table: Table; at: number }[], schema: Schema): Candidate[] {
  return tables.flatMap(({ table, at }) =>
    tiles.flatMap((tile, other) => {
      const concerned = [
        ...tile.tables,
        ...(tile.days.some((day) => day.table === table) ? [] : tile.days.map((day) => day.table)),
        ...(tile.days.length > 0 ? [] : tablesOfTerms(tile, schema)),
      ];
      if (other === at) return [];
      return [...new Set(concerned)].flatMap((base): Candidate[] => {
        const key = base.foreignKeys.find((one) => one.table === table.name);
        if (!key || base === table) return [];
        const own = tile.tables.includes(base) ? [at, other] : [at];
        return [{ ...rowsOf(base), tiles: own, subject: table, distinct: { table: base.name, column: key.column } }];
      });
    }),
  );
}

const asks = /^(howLong|days|age)$/;
const maxNamedDays = 300;
/** More meanings than that of one question are not compared. */
const maxPairs = 200;

/** Numbers of days: how long, days between two dates, how late, how old. */
function durationsOf(tiles: readonly Tile[], schema: Schema): Candidate[] {
  const askingTiles = tiles.flatMap((tile, at) =>
    tile.tags.some((tag) => asks.test(tag)) && tiles[at - 1]?.number === undefined && !namesInstant(tiles, at) ? [at] : [],
  );
  if (askingTiles.length === 0) return [];
  const named = namedDays(tiles);
  const andTiles = tiles.flatMap(({ tags }, at) => (tags.includes('and') ? [at] : []));
  const ands = (positions: readonly number[]) =>
    positions.length > 1 ? andTiles.filter((at) => at > Math.min(...positions) && at < Math.max(...positions)) : [];
  const always = [...askingTiles, ...connectingTiles(tiles)];
  const used = (positions: readonly number[]) => [...new Set([...always, ...positions, ...ands(positions)])];
  const between: Candidate[] = [];
  for (const from of named)
    for (const to of named) {
      if (between.length >= maxPairs) break;
      if (from.at >= to.at || (from.isRows && to.isRows && ands([from.at, to.at]).length === 0)) continue;
      between.push(...daysBetween(from, to, schema, () => used([from.at, to.at])));
    }
  const until = named.flatMap((to) => daysUntil(to, schema, used([to.at])));
  // A delay begins on the day on which something was due.
  if (tiles.some(({ words }) => words[0]?.stem === 'delay')) return lastingOf(tiles, schema, used);
  return [
    ...(tiles.some(({ tags }) => tags.includes('between')) || /\bfrom\b/.test(textOf(tiles)) ? between : []),
    ...lastingOf(tiles, schema, used),
    ...sinceOf(tiles, schema, used),
    ...until,
    ...between,
  ];
}

interface NamedDay extends ColumnMeaning {
  readonly at: number;
  /** The day on which rows of the table begin, where the question names only the table. */
  readonly isRows: boolean;
}

/** The days that the question names, each where it stands first: a question of many such words about many tables would have millions of pairs. */
function namedDays(tiles: readonly Tile[]): NamedDay[] {
  const all = tiles.flatMap((tile, at) => [
    ...[...tile.days, ...tile.columns.filter(({ column }) => column.kind === 'date')].map((day) => ({ ...day, at, isRows: false })),
    ...tile.tables.flatMap((table) => {
      const column = tile.tags.length === 0 ? beginDate(table) : undefined;
      return column ? [{ table, column, at, isRows: true }] : [];
    }),
  ]);
  const first = new Map<string, NamedDay>();
  for (const day of all) {
    const key = `${day.isRows} ${day.table.name}.${day.column.name}`;
    if (!first.has(key)) first.set(key, day);
  }
  return [...first.values()].slice(0, maxNamedDays);
}

/** `which time`, `the first time`, `the day`: a point in time and no duration. */
const namesInstant = (tiles: readonly Tile[], at: number): boolean =>
  tiles[at]?.words[0]?.lower === 'day' ||
  (tiles[at]?.words[0]?.stem === 'time' &&
    /^(what|which|any|same|this|that|first|last|every|each)$/.test(tiles[at - 1]?.words.at(-1)?.lower ?? ''));

const textOf = (tiles: readonly Tile[]) => tiles.flatMap(({ words }) => words.map(({ lower }) => lower)).join(' ');

/** `between order and shipment`, `until it is paid` */
const connectingTiles = (tiles: readonly Tile[]) =>
  tiles.flatMap(({ tags, words }, at) =>
    tags.includes('between') || (!tags.includes('by') && /^(until|till|since|date|from)$/.test(words[0]?.lower ?? '')) ? [at] : [],
  );

const dateSql = (sql: string) => `${sql}::date`;

function durationQuantity(label: string, from: Day | 'today', to: Day | 'today'): Quantity {
  const sqlOf = (day: Day | 'today', of: (table: string, column: string) => string) =>
    day === 'today' ? 'current_date' : dateSql(of(day.table, day.column));
  const value: Expression = {
    tables: [from, to].flatMap((day) => (day === 'today' ? [] : [day.table])),
    sql: (of) => `(${sqlOf(to, of)} - ${sqlOf(from, of)})`,
  };
  return { label, isTerm: true, unit: 'days', value };
}

export const dayOf = ({ table, column }: ColumnMeaning): Day => ({ table: table.name, column: column.name });

const duration = (base: Table, from: ColumnMeaning, to: ColumnMeaning, tiles: readonly number[]): Candidate => ({
  base,
  quantity: durationQuantity(`days from ${toWords(from.column.name)} to ${toWords(to.column.name)}`, dayOf(from), dayOf(to)),
  operation: 'avg',
  conditions: [],
  tiles,
});

function daysBetween(from: ColumnMeaning, to: ColumnMeaning, schema: Schema, tiles: () => readonly number[]): Candidate[] {
  if (from.column === to.column) return [];
  const [base] = [to.table, from.table].filter((table) => [from, to].every((one) => pathTo(schema, table, one.table.name)));
  return base ? [duration(base, from, to, tiles())] : [];
}

/** `how long until a bill is paid` counts from the day on which the bill begins. */
function daysUntil(to: ColumnMeaning, schema: Schema, tiles: readonly number[]): Candidate[] {
  for (const table of reachable(to.table, schema)) {
    const from = beginDate(table);
    if (from && from !== to.column && isEnd(to)) return [duration(to.table, { table, column: from }, to, tiles)];
  }
  return [];
}

const isEnd = ({ table, column }: ColumnMeaning) =>
  endDate(table) === column || (endDate(table) !== undefined && /paid|received|shipped|discharged|delivered/.test(column.name));

/** How long rows last, such as stays; and how late they are. */
function lastingOf(tiles: readonly Tile[], schema: Schema, used: (positions: readonly number[]) => number[]): Candidate[] {
  const late = tiles.flatMap(({ tags }, at) => (tags.includes('late') || tags.includes('days') ? [at] : []));
  const isLate = tiles.some(({ tags, words }) => tags.includes('late') || words[0]?.lower === 'delay');
  const named = tiles.flatMap((tile, at) => tile.tables.map((table) => ({ table, at })));
  const tables = named.length > 0 && isLate ? [...named, ...schema.filter(dueDate).map((table) => ({ table, at: -1 }))] : named;
  if (!isLate) return saysLength(tiles) ? tables.flatMap(({ table, at }) => lengthOf(table, used([at]))) : [];
  return tables.flatMap(({ table, at }): Candidate[] => {
    const [end, due] = [endDate(table), dueDate(table)];
    return due && end ? [duration(table, { table, column: due }, { table, column: end }, used([...late, ...(at < 0 ? [] : [at])]))] : [];
  });
}

function lengthOf(table: Table, tiles: readonly number[]): Candidate[] {
  const [begin, end, days] = [beginDate(table), endDate(table), daysColumn(table)];
  if (days) return [{ ...rowsOf(table), quantity: quantityOfColumn({ table, column: days }), operation: 'avg', tiles }];
  return begin && end && begin !== end && !dueDate(table) ? [duration(table, { table, column: begin }, { table, column: end }, tiles)] : [];
}

/** `how many days of leave` are a sum. */
function saysLength(tiles: readonly Tile[]): boolean {
  const text = textOf(tiles).replace('days', 'day');
  return /how long|length|duration|how many day|number of day|average day/.test(text) && !/how many day of/.test(text);
}

/** Ages and times since a day, up to today. */
function sinceOf(tiles: readonly Tile[], schema: Schema, used: (positions: readonly number[]) => number[]): Candidate[] {
  const isAge = tiles.some(({ tags }) => tags.includes('age'));
  const isSince = /\bsince\b|been with|tenure/.test(textOf(tiles));
  const old = tiles.flatMap(({ tags }, at) => (tags.includes('age') ? [at] : []));
  return schema.flatMap((table): Candidate[] => {
    const column = isAge
      ? birthDate(table)
      : isSince
        ? tiles.flatMap(({ days }) => days).find((day) => day.table === table)?.column
        : undefined;
    if (!column) return [];
    const verbs = tiles.flatMap(({ days }, at) => (days.some((day) => day.column === column) ? [at] : []));
    const days = durationQuantity(`days since ${toWords(column.name)}`, dayOf({ table, column }), 'today');
    const age: Quantity = {
      label: 'age in years',
      isTerm: true,
      value: { tables: [table.name], sql: (of) => `extract(year from age(current_date, ${of(table.name, column.name)}))` },
    };
    return [{ base: table, quantity: isAge ? age : days, operation: 'avg', conditions: [], tiles: used([...verbs, ...old]) }];
  });
}
