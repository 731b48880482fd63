import { candidatesOfConcept } from '../meaning/candidates.ts';
import type { Pass } from '../meaning/pass.ts';
import { type ColumnMeaning, type Tile, valuesOfRoot } from '../meaning/tiles.ts';
import { type Concept, concepts } from '../schema/concepts.ts';
import type { Condition } from '../schema/expression.ts';
import { beginDate, endDate, isLabel, labelColumn, mainNumber, numbersOf, quantityColumn, statusColumn } from '../schema/roles.ts';
import { columnOf, literal, type Schema, type Table, tableOf } from '../schema/schema.ts';
import { type Value, type ValueIndex, valueTest } from '../schema/value-index.ts';
import { toWords } from '../words/words.ts';
import { isOfOtherRows, namesOnlyRows } from './other-rows.ts';

/** A condition with the position of the words that ask for it. */
export interface Placed {
  readonly at: number;
  readonly condition: Condition;
}

/** `not cancelled`, `except Germany`, `have not been shipped` */
export function negationOf(pass: Pass, at: number): number | undefined {
  let before = pass.beside(at, -1);
  if (pass.has(before, 'still') || pass.has(before, 'sum')) before = pass.beside(before, -1);
  return pass.has(before, 'not') || pass.has(before, 'without') ? before : undefined;
}

/**
 * Values by which rows are filtered: in the table that stands beside the value, else in the nearest one. Rows that are counted for
 * another table leave none out: `customers without cancelled orders` are not those that have any other order.
 */
export function valueConditions(pass: Pass, { isDay = () => false, ofSubject = false, preferred = [] }: Surroundings = {}): Placed[] {
  const placed: PlacedValue[] = [];
  for (const at of pass.tiles.keys()) {
    const match = isDay(at) ? undefined : placedAt(pass, at, placed, { ofSubject, preferred });
    if (!match) continue;
    const { value, exclusion } = match;
    const still = pass.beside(at, -1);
    pass.use(at, ...(exclusion === undefined ? [] : [exclusion]), ...columnBeside(pass, at, value));
    if (pass.has(still, 'still')) pass.use(still);
    if (pass.has(at - 1, 'by')) pass.use(at - 1);
    placed.push(match);
  }
  const groups = Map.groupBy(placed, ({ value, exclusion }) => `${value.table}.${value.column} ${exclusion !== undefined}`);
  return [...groups.values()].map((group) => joinValues(pass, group, ofSubject));
}

interface Surroundings {
  /** True for words that name a day. */
  readonly isDay?: (at: number) => boolean;
  readonly ofSubject?: boolean;
  /** The columns, as `customers.country`, by which rows are grouped, or were filtered by the question before. */
  readonly preferred?: readonly string[];
}

interface PlacedValue {
  readonly at: number;
  readonly value: Value;
  /** The position of the word that excludes it. */
  readonly exclusion: number | undefined;
}

/** The value at a position, with the word that leaves it out. */
function placedAt(
  pass: Pass,
  at: number,
  placed: readonly PlacedValue[],
  { ofSubject, preferred = [] }: Surroundings,
): PlacedValue | undefined {
  const value = valueAt(pass, at, preferred);
  const before = value && placed.findLast((one) => isSameColumn(one.value, value));
  if (value && ((before && !areJoined(pass, before.at, at)) || isOfOtherRows(pass, at, value))) pass.refuse(at);
  const exclusion = value && (negationOf(pass, at) ?? exclusionBefore(pass, placed.at(-1), { at, value }));
  const isBoth = placed.some(
    (one) => value && isSameColumn(one.value, value) && (one.exclusion === undefined) !== (exclusion === undefined),
  );
  const isMisread =
    exclusion !== undefined && (pass.isUsed(at) || isNone(pass, exclusion, at) || (ofSubject && value?.table === pass.base.name));
  return value && !isBoth && !isMisread ? { at, value, exclusion } : undefined;
}

/** `paid on overdue invoices` is not what was paid or is overdue: alternatives have a word between them, or follow each other. */
const areJoined = (pass: Pass, from: number, to: number): boolean =>
  (from + 1 === to && !mayBeSubtracted(pass, from)) ||
  pass.tiles.slice(from + 1, to).some(({ tags }) => tags.some((tag) => /^(and|or|not|without|compare)$/.test(tag)));

/** `Germany - France` may be a difference, but not where they are compared. */
const mayBeSubtracted = (pass: Pass, at: number): boolean =>
  /[-–−]/.test(pass.tiles[at]?.words.at(-1)?.after ?? '') && !pass.mentions('compare');

/** `has not taken any vacation` has taken none, which is no other kind of leave. */
const isNone = (pass: Pass, exclusion: number, at: number): boolean =>
  pass.tiles
    .slice(exclusion + 1, at)
    .some(({ words }) => /^(any|take|taken|have|had|make|made|get|got|use|used)$/.test(words[0]?.lower ?? ''));

const isSameColumn = (a: Value, b: Value): boolean => a.table === b.table && a.column === b.column;

function valueAt(pass: Pass, at: number, preferred: readonly string[]): Value | undefined {
  const { values, concepts, tables } = pass.tiles[at] as Tile;
  // `librarians` are the rows, although `librarian` is the role of some of them.
  if (values.length === 0 || (pass.isUsed(at) && concepts.length === 0) || tables.includes(pass.base)) return undefined;
  const value = chooseValue(pass, at, preferred);
  return value && pass.isUsed(at) && value.table !== pass.base.name ? undefined : value;
}

/** `excluding cancelled and no-show` leaves both out; `not cancelled and shipped` may not. */
function exclusionBefore(pass: Pass, before: PlacedValue | undefined, { at, value }: Omit<PlacedValue, 'exclusion'>): number | undefined {
  if (before?.exclusion === undefined || !pass.has(before.exclusion, 'without')) return undefined;
  const joint = pass.beside(before.at, 1);
  const isJoined = (pass.has(joint, 'and') || pass.has(joint, 'or')) && pass.beside(joint, 1) === at;
  return isJoined && isSameColumn(before.value, value) ? before.exclusion : undefined;
}

/** Several values of one column are alternatives; `customers who ordered by web and phone` did both. */
function joinValues(pass: Pass, group: readonly PlacedValue[], ofSubject: boolean): Placed {
  const isEither = !ofSubject || group.some(({ value }) => value.table !== pass.base.name);
  for (const { at, exclusion = at } of group.slice(1))
    for (const joint of [at, exclusion].flatMap((one) => [one - 1, pass.beside(one, -1)]))
      if ((isEither && pass.has(joint, 'and')) || pass.has(joint, 'or')) pass.use(joint);
  const { at, exclusion } = group.at(-1) as PlacedValue;
  const values = group.map(({ value }) => value);
  return { at, condition: valueCondition(values, exclusion !== undefined, pass.index) };
}

/** A value holds in all spellings that the data has of it. */
function valueCondition(values: readonly Value[], excluded: boolean, index: ValueIndex): Condition {
  const [{ table, column }] = values as [Value];
  const spellings = values.map((value) => index.spellingsOf(value));
  // A column of many values, as of names or numbers of orders, is compared as it is written, so that an index of it serves.
  const isExact = index.hasAllOf(table) || index.fewOf(table, column).length === 0;
  const names = [...new Set(spellings.map(([name, ...more]) => (more.length > 0 ? `${name} (also ${more.join(', ')})` : `${name}`)))];
  return {
    key: `${table}.${column}`,
    label: `${toWords(column)} ${excluded ? `not ${names.join(' nor ')}` : names.join(' or ')}`,
    tables: [table],
    sql: (of) => valueTest(of(table, column), [...new Set(spellings.flat())], { excluded, isExact }),
  };
}

/**
 * The value in the column or table that stands beside it, else in one that is preferred, else in the nearest table; undefined where several
 * columns of that table have it.
 */
function chooseValue(pass: Pass, at: number, preferred: readonly string[]): Value | undefined {
  const beside = [pass.tiles[pass.beside(at, 1)], pass.tiles[pass.beside(at, -1)]];
  const criteria: readonly ((value: Value) => boolean)[] = [
    ({ table, column }) => beside.some((tile) => tile?.columns.some((one) => one.table.name === table && one.column.name === column)),
    ({ table }) => beside.some((tile) => tile?.tables.some(({ name }) => name === table)),
    ({ table, column }) => preferred.includes(`${table}.${column}`),
  ];
  let left = (pass.tiles[at]?.values ?? []).filter(({ table }) => pass.reaches(table));
  const isClear = () => left.every((value) => isSameColumn(value, left[0] as Value));
  for (const criterion of criteria) {
    if (isClear()) return left[0];
    const fitting = left.filter(criterion);
    if (fitting.length > 0) left = fitting;
  }
  const nearest = Math.min(...left.map(({ table }) => pass.distance(table)));
  left = left.filter(({ table }) => pass.distance(table) === nearest);
  if (isClear()) return left[0];
  const [first, ...others] = pass.tables.flatMap(({ name }) => left.filter(({ table }) => table === name)) as [Value, ...Value[]];
  const isOfOneTable = others.some((one) => one.table === first.table && !isSameColumn(one, first));
  // A term of business may have taken the words, without their value.
  if (pass.isUsed(at) && first.table === pass.base.name) pass.refuse(at);
  if (isOfOneTable || pass.isUsed(at)) return undefined;
  const columns = others.filter(({ table }) => table !== first.table).map(columnTitle);
  pass.assumed.push(`${first.value}: the ${columnTitle(first)}, not the ${[...new Set(columns)].join(' or ')}`);
  return first;
}

export const columnTitle = ({ table, column }: Value) => `${toWords(column)} of ${toWords(table)}`;

/** `status inactive`, `Warehouse department`: the column that is said with its value, or its table. */
function columnBeside(pass: Pass, at: number, value: Value): number[] {
  const before = pass.beside(at, -1);
  return [pass.beside(at, 1), before, ...(pass.has(before, 'not') || pass.has(before, 'without') ? [pass.beside(before, -1)] : [])].filter(
    (next) => {
      const tile = pass.tiles[next];
      if (!tile || pass.isUsed(next)) return false;
      const isName = tile.tables.some((table) => table.name === value.table && isLabel(table, value.column));
      return isName || tile.columns.some(({ table, column }) => column.name === value.column && table.name === value.table);
    },
  );
}

/** Columns of yes or no: discontinued products, inactive doctors. */
export function flagConditions(pass: Pass): Placed[] {
  return pass.tiles.flatMap((tile, at) => {
    if (pass.isUsed(at)) return [];
    // A value of the rows themselves comes before a mark of rows that they refer to.
    const isOwnValue = tile.values.some(({ table }) => table === pass.base.name);
    const plain = pass.columnAt(at, ({ table, column }) => column.kind === 'boolean' && !(isOwnValue && table !== pass.base));
    const opposite = plain ? undefined : oppositeOf(pass, tile.words[0]?.lower ?? '');
    const flag = plain ?? opposite;
    if (!flag) return [];
    const not = negationOf(pass, at);
    pass.use(at, ...(not === undefined ? [] : [not]));
    const holds = (not === undefined) === (opposite === undefined);
    const { table, column } = flag;
    const name = toWords(column.name);
    // Rows without a mark are not marked, and are not known to be the opposite.
    const failing = (mark: string) => (opposite ? `not ${mark}` : `${mark} is not true`);
    return [
      {
        at,
        condition: {
          key: `${table.name}.${column.name}`,
          label: holds ? name : `not ${name}`,
          tables: [table.name],
          sql: (of) => (holds ? of(table.name, column.name) : failing(of(table.name, column.name))),
        },
      },
    ];
  });
}

const oppositeOf = (pass: Pass, word: string): ColumnMeaning | undefined => {
  const rest = /^(?:in|un|non-?)(.{4,})$/.exec(word)?.[1];
  return pass.nearest(
    pass.tables.flatMap((table) =>
      table.columns.filter(({ name, kind }) => kind === 'boolean' && name.toLowerCase() === rest).map((column) => ({ table, column })),
    ),
  );
};

const outstanding = concepts.filter(({ label }) => label === 'outstanding amount');

/** An invoice that is still open is not paid, also where its status says that it is overdue. */
const termsAt = (pass: Pass, at: number): readonly Concept[] =>
  pass.tiles[at]?.words[0]?.lower === 'open' && pass.has(pass.beside(at, -1), 'still') ? outstanding : (pass.tiles[at]?.concepts ?? []);

/** Terms of business that describe the rows: overdue invoices, products out of stock. */
export function termConditions(pass: Pass): Placed[] {
  return [...pass.tiles.keys()].flatMap((at) => {
    if (pass.isUsed(at)) return [];
    const candidate = termsAt(pass, at)
      .flatMap((concept) =>
        /overdue|outstanding|stock at|out of|on leave|new emp/.test(concept.label) ? candidatesOfConcept(concept, at, pass) : [],
      )
      .find(({ base }) => base === pass.base);
    if (!candidate || negationOf(pass, at) !== undefined) return [];
    pass.use(at);
    const note = pass.beside(at, -1);
    if (pass.has(note, 'still')) pass.use(note);
    return candidate.conditions.map((condition) => ({ at, condition }));
  });
}

const awaitsNothing = /^(cancell?ed|void(ed)?|rejected|draft)$/i;

/** Rows that are called off or are drafts do not count as waiting. */
export function notCalledOff(pass: Pass, table: Table): Condition[] {
  const status = statusColumn(table);
  const values = status ? pass.index.fewOf(table.name, status.name).filter((value) => awaitsNothing.test(value)) : [];
  if (!status || values.length === 0) return [];
  return [
    {
      key: `called off ${table.name}`,
      label: `without ${values.join(' and ')} ones`,
      tables: [table.name],
      sql: (of) => valueTest(of(table.name, status.name), values, { excluded: true, isExact: pass.index.hasAllOf(table.name) }),
    },
  ];
}

/** Rows to which something has happened, or has not: discharged patients, orders that are not shipped. */
export function doneConditions(pass: Pass, isDay: (at: number) => boolean): Placed[] {
  return [...pass.tiles.keys()].flatMap((at) => {
    const day = pass.isUsed(at) || namesOnlyRows(pass, at) ? undefined : pass.dayAt(at);
    const not = negationOf(pass, at) ?? stillBefore(pass, at);
    return !day ? [] : not === undefined ? happenedConditions(pass, at, day, isDay(at)) : waitingConditions(pass, at, day, not);
  });
}

/** Every ticket was opened once, but `open tickets` are those that are; `scheduled visits` may have a status of that name. */
export const namesState = (pass: Pass, at: number): boolean =>
  pass.tiles[at]?.words[0]?.lower === 'open' || pass.tiles[at]?.values.some(({ table }) => table === pass.base.name) === true;

/** An order is ordered; what has an end may have ended. */
function happenedConditions(pass: Pass, at: number, day: ColumnMeaning, isDay: boolean): Placed[] {
  if (isDay) return [];
  if (day.table === pass.base && beginDate(day.table) === day.column && !namesState(pass, at)) pass.use(at);
  if (pass.isUsed(at) || endDate(day.table) !== day.column) return [];
  pass.use(at, ...pass.find('still'));
  assumeDay(pass, at, day);
  return done(pass, day, true).map((condition) => ({ at, condition }));
}

function waitingConditions(pass: Pass, at: number, day: ColumnMeaning, not: number): Placed[] {
  if (endDate(day.table) !== day.column || pass.mentions('late')) return [];
  pass.use(at, not, ...pass.find('still'));
  assumeDay(pass, at, day);
  return done(pass, day, false).map((condition) => ({ at, condition }));
}

/** A status may have the name of what happened, and say something else than the day. */
function assumeDay(pass: Pass, at: number, { table, column }: ColumnMeaning): void {
  const value = pass.tiles[at]?.values.find((one) => one.table === table.name);
  if (value) pass.assumed.push(`${value.value}: by ${toWords(column.name)}, not by the ${columnTitle(value)}`);
}

function done(pass: Pass, { table, column }: ColumnMeaning, isDone: boolean): Condition[] {
  const condition: Condition = {
    key: `${table.name}.${column.name}`,
    label: `${isDone ? 'with' : 'without'} ${toWords(column.name)}`,
    tables: [table.name],
    sql: (of) => `${of(table.name, column.name)} is ${isDone ? 'not ' : ''}null`,
  };
  return isDone ? [condition] : [condition, ...notCalledOff(pass, table)];
}

/** `currently admitted`: rows that have an end, and have not come to it. */
export function nowConditions(pass: Pass, placed: readonly Placed[]): Placed[] {
  const [at] = pass.find('now');
  const lasting = pass.tiles.flatMap(({ tables, days }) => [...tables, ...days.map(({ table }) => table)]).filter(endDate);
  if (at === undefined || lasting.some((table) => table !== pass.base)) return [];
  const end = lasting.length > 0 ? endDate(pass.base) : undefined;
  const isState = placed.some(({ condition }) => condition.tables.includes(pass.base.name));
  if (!end && !isState && limitsNoun(pass, at)) return [];
  pass.use(at);
  return end && !isState ? done(pass, { table: pass.base, column: end }, false).map((condition) => ({ at, condition })) : [];
}

/** `current customers` are not all of them; stock is always that of the present. */
function limitsNoun(pass: Pass, at: number): boolean {
  const { tables = [], concepts: named = [] } = pass.tiles[at + 1] ?? {};
  return tables.includes(pass.base) && named.length === 0 && !quantityColumn(pass.base);
}

/** `still have to be shipped` */
function stillBefore(pass: Pass, at: number): number | undefined {
  const before = pass.beside(at, -1);
  return pass.has(before, 'still') ? before : undefined;
}

/** Part of the amount was paid. */
export function partConditions(pass: Pass): Placed[] {
  const [at] = pass.find('partly');
  if (at === undefined) return [];
  const total = mainNumber(pass.base);
  const paid = numbersOf(pass.base).find(({ name }) => /paid/.test(name));
  if (!total || !paid) return [];
  const table = pass.base.name;
  pass.use(at, ...pass.tiles.flatMap((tile, index) => (/^(paid|payment|amount)$/.test(tile.words[0]?.lower ?? '') ? [index] : [])));
  return [
    {
      at,
      condition: {
        key: `${table}.${paid.name}`,
        label: 'partly paid',
        tables: [table],
        sql: (of) => `${of(table, paid.name)} > 0 and ${of(table, paid.name)} < ${of(table, total.name)}`,
      },
    },
  ];
}

/** `cancellation rate`, `no-show rate`: the value of a column with few values that the word before `rate` is a form of. */
export function rateConditions(pass: Pass): Placed[] {
  return pass.find('rate').flatMap((rate) => {
    const at = pass.beside(rate, -1);
    const tile = pass.tiles[at];
    if (!tile || pass.isUsed(at) || tile.values.length > 0) return [];
    const few = pass.tables.flatMap((table) =>
      table.columns.filter(({ kind }) => kind === 'text').flatMap(({ name }) => pass.index.fewOf(table.name, name)),
    );
    const value = valuesOfRoot(tile.words[0]?.lower ?? '', pass.index, [...new Set(few)]).find(({ table }) => table === pass.base.name);
    if (!value) return [];
    pass.use(at);
    return [{ at, condition: valueCondition([value], false, pass.index) }];
  });
}

/** A condition for a value that a program gives beside the question. */
export function contextCondition(key: string, value: string | number, schema: Schema, index: ValueIndex): Condition | undefined {
  const name = key.toLowerCase();
  const isOf = (table: Table) => [table.name, table.name.replace(/s$/, '')].includes(name.replace(/_(id|name)$/, ''));
  const table = schema.find(isOf);
  if (table && (typeof value === 'number' || /_id$/.test(name))) {
    const id = columnOf(table, 'id');
    return (
      id && {
        key: `${table.name}.id`,
        label: `${toWords(table.name.replace(/s$/, ''))} ${value}`,
        tables: [table.name],
        sql: (of) => `${of(table.name, 'id')}::text = ${literal(String(value))}`,
      }
    );
  }
  const values = index.find(String(value).toLowerCase());
  const label = table && labelColumn(table)?.name;
  const own = values.find((one) => (table ? one.table === table.name && one.column === label : one.column === name));
  return own && tableOf(schema, own.table) ? valueCondition([own], false, index) : undefined;
}
