import type { Comparison } from '../meaning/intent.ts';
import type { Pass } from '../meaning/pass.ts';
import type { ColumnMeaning, Tile } from '../meaning/tiles.ts';
import type { Condition } from '../schema/expression.ts';
import {
  beginDate,
  currencyAtEnd,
  currencyOfWord,
  daysColumn,
  dueDate,
  endDate,
  isMoney,
  mainNumber,
  numbersOf,
  quantityColumn,
} from '../schema/roles.ts';
import type { Column, Table } from '../schema/schema.ts';
import { toWords } from '../words/words.ts';
import type { Placed } from './conditions.ts';

export interface StatedComparison {
  /** The comparison, and its own position and that of its number. */
  readonly comparison: Comparison;
  readonly at: number;
  readonly number: number;
  /** The last position that belongs to it. */
  readonly end: number;
}

const operators = { over: '>', under: '<', atLeast: '>=', atMost: '<=', exactly: '=' } as const;
const opposites = { over: '<=', under: '>=', atLeast: '<', atMost: '>' } as const;

/** Comparisons with numbers: over 5000, not over 5000, at least 3, exactly 3, between 1000 and 2000. */
export function comparisonsOf(pass: Pass): StatedComparison[] {
  const stated = pass.find('over', 'under', 'atLeast', 'atMost', 'exactly').flatMap((at) => limitAt(pass, at) ?? []);
  for (const at of pass.find('between')) {
    const [from, joint, to] = [at + 1, at + 2, at + 3].map((one) => pass.tiles[one]);
    if (from?.number !== undefined && to?.number !== undefined && joint?.tags.includes('and'))
      stated.push({
        // Between 100 and 50 is what lies between them.
        comparison: { operator: '>=', number: Math.min(from.number, to.number), to: Math.max(from.number, to.number) },
        at,
        number: at + 1,
        end: at + 3,
      });
  }
  return stated;
}

function limitAt(pass: Pass, at: number): StatedComparison | undefined {
  const tag = (['atLeast', 'atMost', 'over', 'under', 'exactly'] as const).find((one) => pass.has(at, one)) ?? 'over';
  const [before, next] = [pass.beside(at, -1), pass.beside(at, 1)];
  const number = pass.tiles[next]?.number;
  // A limit in percent is one of shares, which no condition on rows or groups holds.
  const isShare = pass.has(next + 1, 'percent') && (pass.tiles[next + 1]?.columns.length ?? 0) === 0;
  if (number === undefined || isShare) return undefined;
  const isNot = tag !== 'exactly' && pass.has(before, 'not') && !pass.isUsed(before);
  const operator = isNot ? opposites[tag] : operators[tag];
  return { comparison: { operator, number }, at: isNot || pass.has(at - 1, 'by') ? before : at, number: next, end: next };
}

/** The position of what a number counts: `more than two overdue invoices` are invoices. */
export function nounAfter(pass: Pass, { end }: StatedComparison): number {
  const isAdjective = ({ tables, values, concepts }: Tile) => tables.length === 0 && values.length + concepts.length > 0;
  let at = pass.beside(end, 1);
  for (let tile = pass.tiles[at]; tile && isAdjective(tile); tile = pass.tiles[at]) at = pass.beside(at, 1);
  return at;
}

export const useComparison = (pass: Pass, { at, end }: StatedComparison): void =>
  pass.use(...Array.from({ length: end - at + 1 }, (_, offset) => at + offset));

const comparisonSql = (value: string, { operator, number, to }: Comparison): string =>
  to === undefined ? `${value} ${operator} ${number}` : `${value} between ${number} and ${to}`;

export const comparisonLabel = ({ operator, number, to }: Comparison): string =>
  to === undefined
    ? `${{ '>': 'over', '<': 'under', '>=': 'at least', '<=': 'at most', '=': 'exactly' }[operator]} ${number}`
    : `from ${number} to ${to}`;

/** A comparison of a column of each row with a number; the column is the one beside it, else the one that the rows are about. */
export function numberConditions(pass: Pass, isOfGroups = false): Placed[] {
  return comparisonsOf(pass).flatMap((stated) => {
    const days = daysCompared(pass, stated);
    if (days) return [days];
    if (isDurationOfState(pass, stated)) return [];
    const code = currencyAfter(pass, stated);
    const isOther = (name: string) => code !== undefined && (currencyAtEnd(name) ?? code) !== code;
    const numberAt = (at: number) => pass.columnAt(at, ({ column }) => column.kind === 'number' && !isOther(column.name));
    const named = [pass.beside(stated.end, 1), pass.beside(stated.at, -1)].find((at) => numberAt(at) !== undefined);
    const target = named === undefined ? mainOf(pass, stated) : numberAt(named);
    // `which months had fines above 300` is not about each fine.
    if (!target || (named === undefined && isOfGroups)) return [];
    useComparison(pass, stated);
    if (named !== undefined) pass.use(named);
    else pass.assumed.push(`compared the ${toWords(target.column.name)}`);
    return [{ at: stated.at, condition: rowComparison(target, stated.comparison) }];
  });
}

/** `pending for more than 10 days`: no column says since when. */
const isDurationOfState = (pass: Pass, { at }: StatedComparison): boolean =>
  pass.tiles[at - 1]?.words.at(-1)?.lower === 'for' && (pass.tiles[at - 2]?.values.length ?? 0) > 0;

/** `over 1000 USD` */
const currencyAfter = (pass: Pass, { end }: StatedComparison): string | undefined =>
  currencyOfWord(pass.tiles[pass.beside(end, 1)]?.words[0]?.stem);

/** The amount of the same name in the currency that is said, where the table has one in each. */
function inCurrency({ columns }: Table, column: Column | undefined, code: string | undefined): Column | undefined {
  const own = currencyAtEnd(column?.name ?? '');
  if (own === undefined || code === undefined || own === code) return column;
  return columns.find(({ name }) => name === column?.name.replace(/[a-z]+$/i, code));
}

/** Numbers up to here are spelled out, and count things. */
const maxSpelledOut = 12;

/** The amount that the rows are about, unless the number counts something else: 5 times, 20 orders, 30 days. */
function mainOf(pass: Pass, stated: StatedComparison): ColumnMeaning | undefined {
  const { at, end, comparison } = stated;
  const next = pass.beside(end, 1);
  const [unit, noun, before] = [next, pass.beside(next, 1), pass.beside(at, -1)].map((one) => pass.tiles[one]);
  const main = inCurrency(pass.base, mainNumber(pass.base), currencyAfter(pass, stated));
  // `stock under 10` is not about the price, and `at least one overdue invoice` counts invoices.
  const isOther = before?.columns.some(({ column }) => column.kind === 'number') || before?.concepts.some((one) => one.unit !== undefined);
  const isCount = comparison.number <= maxSpelledOut && unit !== undefined && unit.values.length > 0 && (noun?.tables.length ?? 0) > 0;
  if (isOther || isCount || isOfRowsBelow(pass, at)) return undefined;
  if (!main || !isMoney(main) || (unit && (unit.tables.length > 0 || unit.tags.includes('times') || unit.grain))) return undefined;
  return { table: pass.base, column: main };
}

/** `customers with orders over 1000` is about the orders of a customer, or all of them, and not about an amount of the customer. */
function isOfRowsBelow(pass: Pass, at: number): boolean {
  const tables = pass.tiles.slice(0, at).map((tile) => [...tile.tables, ...tile.days.map(({ table }) => table)]);
  const noun = tables.findLast(({ length }) => length > 0) ?? [];
  return noun.length > 0 && noun.every(({ name }) => !pass.reaches(name));
}

const rowComparison = ({ table, column }: ColumnMeaning, comparison: Comparison): Condition => ({
  key: `${table.name}.${column.name}`,
  label: `${toWords(column.name)} ${comparisonLabel(comparison)}`,
  tables: [table.name],
  sql: (of) => comparisonSql(of(table.name, column.name), comparison),
});

/** `more than 30 days overdue`, `counted more than 90 days ago`, `longer than 10 days` */
function daysCompared(pass: Pass, stated: StatedComparison): Placed | undefined {
  if (pass.tiles[stated.end + 1]?.grain !== 'day') return undefined;
  const { name: table } = pass.base;
  const [due, begin, end] = [dueDate(pass.base), beginDate(pass.base), endDate(pass.base)];
  const placed = (key: string, label: string, sql: Condition['sql'], ...used: readonly number[]): Placed => {
    useComparison(pass, stated);
    pass.use(stated.end + 1, ...used);
    return { at: stated.at, condition: { key, label: `${comparisonLabel(stated.comparison)} days ${label}`.trim(), tables: [table], sql } };
  };
  if (due && pass.mentions('late'))
    return placed('days late', `after ${toWords(due.name)}`, (of) =>
      comparisonSql(
        `(${end ? `coalesce(${of(table, end.name)}::date, current_date)` : 'current_date'} - ${of(table, due.name)}::date)`,
        stated.comparison,
      ),
    );
  const ago = dayBeforeToday(pass, stated);
  if (ago)
    return placed(
      `${table}.${ago.name}`,
      `since ${toWords(ago.name)}`,
      (of) => comparisonSql(`(current_date - ${of(table, ago.name)}::date)`, stated.comparison),
      stated.end + 2,
      ago.at,
    );
  if (!begin || !end || begin === end || due || !saysLasting(pass, stated)) return undefined;
  const days = daysColumn(pass.base)?.name;
  if (days !== undefined) return placed(`${table}.${days}`, '', (of) => comparisonSql(of(table, days), stated.comparison));
  return placed('lasting', `from ${toWords(begin.name)} to ${toWords(end.name)}`, (of) =>
    comparisonSql(`(${of(table, end.name)}::date - ${of(table, begin.name)}::date)`, stated.comparison),
  );
}

/** The day of these rows that a verb names, where the question says `ago`. */
function dayBeforeToday(pass: Pass, { end }: StatedComparison): { name: string; at: number } | undefined {
  if (pass.tiles[end + 2]?.words[0]?.lower !== 'ago') return undefined;
  const dayAt = (at: number) => pass.dayAt(at) ?? pass.columnAt(at, ({ column }) => column.kind === 'date');
  const at = [...pass.tiles.keys()].find((one) => dayAt(one)?.table === pass.base);
  const name = at === undefined ? undefined : dayAt(at)?.column.name;
  return at === undefined || name === undefined ? undefined : { name, at };
}

/** The words say that the rows last: `stays longer than`, `lasted more than`, `days between admission and discharge`. */
function saysLasting(pass: Pass, { at }: StatedComparison): boolean {
  const lasting = pass.tiles.flatMap(({ words }, index) => (/^(last|lasted|lasting|stayed)$/.test(words[0]?.lower ?? '') ? [index] : []));
  const between = pass.find('between');
  const days = pass.tiles.flatMap((_, index) => (pass.dayAt(index)?.table === pass.base ? [index] : []));
  const isStated =
    lasting.length > 0 || (between.length > 0 && days.length > 1) || /^longer|^shorter/.test(pass.tiles[at]?.words[0]?.lower ?? '');
  if (isStated)
    pass.use(
      ...lasting,
      ...between,
      ...(between.length > 0 ? [...days, ...pass.tiles.flatMap(({ tags }, index) => (tags.includes('and') ? [index] : []))] : []),
    );
  return isStated;
}

const beyond = { over: 'above', under: 'below', atLeast: 'at or above', atMost: 'at or below' } as const;

/** `below their reorder level`, `stock under the minimum`: two columns of the same row. */
export function columnConditions(pass: Pass): Placed[] {
  const table = pass.base.name;
  return pass.find('over', 'under', 'atLeast', 'atMost').flatMap((at) => {
    const tag = (['atMost', 'atLeast', 'over', 'under'] as const).find((one) => pass.has(at, one)) ?? 'over';
    const columns = columnsCompared(pass, at);
    if (!columns) return [];
    const { left, right } = columns;
    const label = `${toWords(left)} ${beyond[tag]} ${toWords(right)}`;
    return [
      {
        at,
        condition: {
          key: `${table}.${left}`,
          label,
          tables: [table],
          sql: (of) => `${of(table, left)} ${operators[tag]} ${of(table, right)}`,
        },
      },
    ];
  });
}

/** The column after the words, and the one before them; a quantity has its level or minimum without being named. */
function columnsCompared(pass: Pass, at: number): { left: string; right: string } | undefined {
  const numberAt = (index: number) => pass.columnAt(index, ({ column }) => column.kind === 'number');
  const right = [at + 1, at + 2, at + 3, at + 4].find((index) => numberAt(index) !== undefined);
  const limit = right === undefined ? undefined : numberAt(right);
  if (right === undefined || limit?.table !== pass.base) return undefined;
  const names = (index: number, name: string) =>
    pass.tiles[index]?.columns.some((one) => one.table === pass.base && one.column.name === name);
  const before = [...pass.tiles.keys()].slice(0, at);
  const named = numbersOf(pass.base).find((column) => column !== limit.column && before.some((index) => names(index, column.name)));
  const left = named ?? (/level|minimum|reorder/.test(limit.column.name) ? quantityColumn(pass.base) : undefined);
  if (!left || left === limit.column) return undefined;
  const stock = pass.tiles.flatMap(({ concepts }, index) =>
    index < at + 5 && concepts.some(({ label }) => label === 'units in stock') ? [index] : [],
  );
  pass.use(at, right, ...before.filter((index) => names(index, left.name)).slice(0, 1), ...stock);
  return { left: left.name, right: limit.column.name };
}
