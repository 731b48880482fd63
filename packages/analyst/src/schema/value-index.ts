import { LRUCache } from 'lru-cache';
import type { Data, Unreadable } from '../tools.ts';
import { stemOf } from '../words/words.ts';
import { type Column, columnName, columnOf, literal, type Schema, type Table, targetsInDoubt } from './schema.ts';

/** A value of the data that a question names. */
export interface Value {
  readonly table: string;
  readonly column: string;
  readonly value: string;
}

/** The values of text columns, by the words that name them. */
export interface ValueIndex {
  /** The values that a phrase names, in lower case. */
  find(phrase: string): readonly Value[];
  /** The values of a column in the sample. */
  valuesOf(table: string, column: string): readonly string[];
  /** True where the sample has every row of the table. */
  hasAllOf(table: string): boolean;
  /** True where the ids of a table to which columns lead by their names are known to differ. */
  hasUniqueIds(table: string): boolean;
  /** As `valuesOf`, if there are few; empty for other columns. */
  fewOf(table: string, column: string): readonly string[];
  /** The values of the same column that differ from this one in capitals or spelling only, itself first. */
  spellingsOf(value: Value): readonly string[];
  readonly size: number;
  /** A check of ids failed, so that the index is read again for the next question. */
  readonly isPartial: boolean;
}

/** A sample of rows for each table, and of values for each column: so the cost does not grow with the data. */
const limits = { tables: 60, rows: 20_000, valuesOfColumn: 1_000, values: 20_000, length: 60 };
/** For the check whether ids differ, which questions wait for. */
const limitsOfIds = { tables: 20, ids: 100_000 };
/** A tool cuts long cells and gives at most so many rows, so the values come in lists of a few. */
const listed = { values: 20, rows: 100 };
const few = 40;

/** American and British spellings are one. */
const keyOf = (value: string) =>
  value
    .toLowerCase()
    .replaceAll('_', ' ')
    .replaceAll(/\bcancelled\b/g, 'canceled')
    .trim();

/** Reads a sample of the values of every text column, one statement for each table. */
async function readValueIndex(schema: Schema, data: Data): Promise<ValueIndex | Unreadable> {
  const byPhrase = new Map<string, Value[]>();
  const byColumn = new Map<string, string[]>();
  const whole = new Set<string>();
  let size = 0;
  const add = (table: string, column: string, values: readonly string[]) => {
    append(byColumn, `${table}.${column}`, values);
    size += values.length;
    for (const value of values)
      for (const key of new Set([keyOf(value), keyOf(value).split(' ').map(stemOf).join(' ')]))
        append(byPhrase, key, [{ table, column, value }]);
  };
  for (const table of schema.slice(0, limits.tables)) {
    const texts = table.columns.filter(({ kind }) => kind === 'text');
    if (texts.length === 0 || size >= limits.values) continue;
    const sample = await readSample(table, texts, data);
    if ('error' in sample) return sample;
    if (sample.isWhole) whole.add(table.name);
    for (const { column, values } of sample.lists) add(table.name, column, values);
  }
  const { unique, hasFailed } = await readUnique(schema, data);
  const find = (phrase: string) => byPhrase.get(keyOf(phrase)) ?? [];
  const valuesOf = (table: string, column: string) => byColumn.get(`${table}.${column}`) ?? [];
  return {
    size,
    isPartial: hasFailed,
    find,
    valuesOf,
    hasAllOf: (table) => whole.has(table),
    hasUniqueIds: (table) => unique.has(table),
    spellingsOf(value) {
      const same = find(value.value).filter((one) => one.table === value.table && one.column === value.column);
      const names = same.flatMap((one) => (keyOf(one.value) === keyOf(value.value) ? [one.value] : []));
      return [...new Set([value.value, ...names])];
    },
    fewOf: (table, column) => (valuesOf(table, column).length <= few ? valuesOf(table, column) : []),
  };
}

function append<T>(lists: Map<string, T[]>, key: string, items: readonly T[]): void {
  const known = lists.get(key);
  if (known) known.push(...items);
  else lists.set(key, [...items]);
}

/**
 * The tables whose ids differ, among those to which columns lead by their names. A table that is too large to tell is not one of them. The
 * first failure that may pass, such as a timeout, ends the checks.
 */
async function readUnique(schema: Schema, data: Data): Promise<{ readonly unique: ReadonlySet<string>; readonly hasFailed: boolean }> {
  const unique = new Set<string>();
  const small = targetsInDoubt(schema).filter(({ target }) => (target.rows ?? 0) <= limitsOfIds.ids);
  for (const { target, id } of small.slice(0, limitsOfIds.tables)) {
    const ids = `select t.${columnName(id)} as id from ${target.written} t limit ${limitsOfIds.ids}`;
    const result = await data.prepare(`select count(*), count(distinct u.id) from (${ids}) u`);
    // PostgreSQL cannot compare values of every type, such as json.
    if ('error' in result && columnOf(target, id)?.kind !== 'other') return { unique, hasFailed: true };
    const [rows, different] = 'error' in result ? [] : (result.rows[0] ?? []);
    if (rows === different && Number(rows) < limitsOfIds.ids) unique.add(target.name);
  }
  return { unique, hasFailed: false };
}

interface Sample {
  /** It has every row of the table. */
  readonly isWhole: boolean;
  readonly lists: readonly { readonly column: string; readonly values: readonly string[] }[];
}

async function readSample(table: Table, columns: readonly Column[], data: Data): Promise<Sample | Unreadable> {
  const names = columns.map(({ name }) => name);
  const result = await data.prepare(sampleOf(table, names));
  if ('error' in result) return result;
  const lists = result.rows.map(([field, list]) => ({ field, values: parseValues(list ?? null) }));
  const [rows] = lists.find(({ field }) => field === ofRows)?.values ?? [];
  return {
    isWhole: Number(rows) < limits.rows,
    lists: lists.flatMap(({ field, values }) => (field === ofRows ? [] : [{ column: names[Number(field)] ?? '', values }])),
  };
}

/** The field of a sample that has the number of its rows, which is also a list. */
const ofRows = '-1';

/**
 * The number of the first rows, and the distinct values of each column among them, in short lists; the first list of each column comes before
 * the second of any.
 */
function sampleOf({ written }: Table, columns: readonly string[]): string {
  const each = columns.map((column, index) => {
    const value = `s.${columnName(column)}::text`;
    return `select ${index} as field, d.v, row_number() over (order by d.v) as n from (select distinct ${value} as v from sample s where length(${value}) <= ${limits.length} limit ${limits.valuesOfColumn}) d`;
  });
  each.unshift(`select ${ofRows} as field, count(*)::text as v, 1 as n from sample`);
  const selected = columns.map((column) => `t.${columnName(column)}`).join(', ');
  return `with sample as (select ${selected} from ${written} t limit ${limits.rows}) select u.field, json_agg(u.v)::text as list from (${each.join(' union all ')}) u group by u.field, (u.n - 1) / ${listed.values} order by (u.n - 1) / ${listed.values}, u.field limit ${listed.rows}`;
}

/** A list that the tool has cut is left out. A database may send longer ones than it was asked for. */
function parseValues(cell: unknown): string[] {
  try {
    const values: unknown = JSON.parse(String(cell));
    const short: unknown[] = Array.isArray(values) ? values.slice(0, listed.values) : [];
    return short.filter((value): value is string => typeof value === 'string');
  } catch {
    return [];
  }
}

const refreshMs = 10 * 60_000;
const maxIndexes = 20;

interface IndexEntry {
  readonly at: number;
  readonly index: Promise<ValueIndex | Unreadable>;
}

const indexes = new LRUCache<string, IndexEntry>({ max: maxIndexes });

/**
 * The index of one data source for one scope, read again after ten minutes. The least recently used of more than twenty is dropped. Questions
 * without a source get an index of their own.
 */
export async function valueIndexOf(source: string | undefined, schema: Schema, data: Data): Promise<ValueIndex | Unreadable> {
  if (source === undefined) return await readValueIndex(schema, data);
  const key = JSON.stringify([source, schema.map(({ written, columns }) => [written, columns.map(({ name }) => name)])]);
  const known = indexes.get(key);
  const entry = known && performance.now() - known.at < refreshMs ? known : { at: performance.now(), index: readValueIndex(schema, data) };
  indexes.set(key, entry);
  try {
    const index = await entry.index;
    // A failure is not kept for the next question.
    if (('error' in index || index.isPartial) && indexes.get(key) === entry) indexes.delete(key);
    return index;
  } catch (cause) {
    if (indexes.get(key) === entry) indexes.delete(key);
    throw cause;
  }
}

/**
 * A condition on values of one column; several are alternatives. As they are written, an index of the column serves; only a look at every
 * row finds further spellings.
 */
export function valueTest(
  column: string,
  values: readonly string[],
  { excluded, isExact }: { excluded: boolean; isExact: boolean },
): string {
  const listOf = (texts: readonly string[]) => texts.map(literal).join(', ');
  const spellings = values.map(keyOf).flatMap((key) => [key, key.replaceAll(/\bcanceled\b/g, 'cancelled')]);
  const exact = values.length === 1 ? `${column}::text = ${listOf(values)}` : `${column}::text in (${listOf(values)})`;
  const anySpelling = `${exact} or lower(trim(replace(${column}::text, '_', ' '))) in (${listOf([...new Set(spellings)])})`;
  if (!excluded) return isExact ? exact : `(${anySpelling})`;
  return `(${column} is null or ${isExact ? `${column}::text not in (${listOf(values)})` : `not (${anySpelling})`})`;
}
