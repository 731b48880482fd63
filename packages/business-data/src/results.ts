import { everyNumber, isWithinDepth, maxJsonDepth } from '@agent-service/contracts/json-values';
import { malformed } from './failure.ts';
import { type CatalogColumn, maxLabels, quoteIfNeeded } from './scope/catalog.ts';
import type { ScopedTable } from './scope/scope.ts';

/** A value of a result. Numbers that JavaScript would round stay text, and so does JSON that is nested too deep. */
export type Value = null | boolean | number | string | readonly unknown[] | { readonly [key: string]: unknown };

export type ValueType = 'boolean' | 'number' | 'date' | 'timestamp' | 'json' | 'text';

/** By the type's number in pg_catalog, which is the same in every database. */
const types: ReadonlyMap<number, ValueType> = new Map([
  [16, 'boolean'],
  ...[20, 21, 23, 26, 700, 701, 1700].map((id) => [id, 'number'] as const),
  [1082, 'date'],
  [1114, 'timestamp'],
  [1184, 'timestamp'],
  [114, 'json'],
  [3802, 'json'],
]);

export const valueTypeOf = (typeId: number): ValueType => types.get(typeId) ?? 'text';

/** From PostgreSQL's text format. */
export function toValue(text: string | null, type: ValueType): Value {
  if (text === null) return null;
  if (type === 'boolean') return text === 't';
  if (type === 'number') return toNumber(text);
  if (type === 'json') return parseJson(text);
  return text;
}

/** Only a text with many digits or an exponent can have a number that JavaScript would round. */
const mayBeRounded = /[\d.]{16}|\de/i;

/** Reads the numbers of a JSON value from their text. */
const keepDigits = (_key: string, value: unknown, { source }: { source?: string } = {}): unknown =>
  typeof value === 'number' && source !== undefined ? toNumber(source) : value;

/** The error of the parser quotes the value, and errors are logged. Only the parsing without a function is not recursive. */
function parseJson(text: string): Value {
  try {
    const value = JSON.parse(text) as Value;
    if (!isWithinDepth(value, maxJsonDepth)) return text;
    return mayBeRounded.test(text) ? (JSON.parse(text, keepDigits) as Value) : value;
  } catch {
    throw malformed(new Error('a value of a JSON type is no JSON'));
  }
}

/** A double keeps every decimal number of up to 15 digits. */
const exactDigits = 15;

/**
 * True when a double keeps all digits of every number in a JSON value, at any depth. A number that was rounded when it was parsed
 * (1.00000000000000001 is 1) cannot be noticed.
 */
export const isExact = (value: unknown): boolean =>
  everyNumber(value, (number) =>
    Number.isInteger(number) ? Number.isSafeInteger(number) : digitsOf(String(number)).length <= exactDigits,
  );

/** The exponent reaches to the end of the text: a pattern that stops at a line end would be tried at each `e` of a hostile number. */
const digitsOf = (number: string): string => number.replace(/e.*/is, '').replace(/\D/g, '').replace(/^0+/, '');

function toNumber(text: string): number | string {
  const value = Number(text);
  return Number.isFinite(value) && (digitsOf(text).length <= exactDigits || String(value) === text) ? value : text;
}

/** One line for each table: the name as statements write it, its columns, about how many rows. */
export function describeTables(tables: readonly ScopedTable[]): string {
  if (tables.length === 0) return '(no tables are available)';
  return tables.map((table) => `${table.written}(${names(table)})${size(table)}${remark(table.comment)}`).join('\n');
}

const maxMissing = 10;
const maxMissingLength = 200;

/** Names the entries of a scope that the data source does not have, as after a table was renamed; empty where it has all. */
export function describeMissing(entries: readonly string[]): string {
  if (entries.length === 0) return '';
  const named = entries.slice(0, maxMissing).map((entry) => entry.slice(0, maxMissingLength).toWellFormed());
  const more = entries.length > maxMissing ? ` and ${entries.length - maxMissing} more` : '';
  return `The data source does not have now what this agent is meant to read: ${named.join(', ')}${more}.`;
}

const names = ({ columns }: ScopedTable): string => columns.map(({ name }) => quoteIfNeeded(name)).join(', ');

const size = ({ approximateRows: rows }: ScopedTable): string => (rows === null ? '' : ` about ${rows} rows`);

const maxRemarkLength = 300;

const remark = (comment: string | null): string =>
  comment === null || comment.trim() === '' ? '' : ` -- ${comment.replace(/\s+/g, ' ').slice(0, maxRemarkLength).toWellFormed()}`;

export const describeTable = (table: ScopedTable): string => [...descriptionLines(table)].join('\n');

/** The description of a table; undefined where it has more bytes than this. */
export function describeTableWithin(table: ScopedTable, maxBytes: number): string | undefined {
  const lines: string[] = [];
  let bytes = -1;
  for (const line of descriptionLines(table)) {
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > maxBytes) return undefined;
    lines.push(line);
  }
  return lines.join('\n');
}

function* descriptionLines(table: ScopedTable): Generator<string> {
  yield `${table.kind} ${table.written}${size(table)}${remark(table.comment)}`;
  for (const column of table.columns) yield line(column);
  if (table.primaryKey.length > 0) yield `primary key (${table.primaryKey.map(quoteIfNeeded).join(', ')})`;
  for (const { columns, schema, table: target, references } of table.foreignKeys)
    yield `(${columns.map(quoteIfNeeded).join(', ')}) refers to ${quoteIfNeeded(schema)}.${quoteIfNeeded(target)} (${references.map(quoteIfNeeded).join(', ')})`;
}

function line({ name, type, baseType, nullable, generated, labels, comment }: CatalogColumn): string {
  const stored = baseType ? `, stored as ${baseType}` : '';
  const values =
    labels === null
      ? ''
      : `, one of ${labels
          .slice(0, maxLabels)
          .map((label) => `'${label}'`)
          .join(', ')}`;
  return `- ${quoteIfNeeded(name)}: ${type}${stored}${values}${nullable ? '' : ', never empty'}${generated ? ', computed' : ''}${remark(comment)}`;
}

const maxCellLength = 2_000;

interface TextTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
  readonly truncated: boolean;
}

/** Rows for a model to read: a header, a line for each row, and their number. No cell looks like a second line or column. */
export function formatRows({ columns, rows, truncated }: TextTable): string {
  if (columns.length === 0) return rows.length === 0 ? '(no rows)' : `(${count(rows.length)} without columns)`;
  const lines = [columns, ...rows].map((cells) => cells.map(formatCell).join(' | '));
  const end = truncated
    ? `(the first ${count(rows.length)}; there are more: aggregate, filter or use LIMIT and OFFSET)`
    : `(${count(rows.length)})`;
  return [...lines, end].join('\n');
}

const count = (rows: number): string => `${rows} ${rows === 1 ? 'row' : 'rows'}`;

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '|': '\\|', '\n': '\\n', '\r': '\\r' };

function formatCell(cell: string | null): string {
  if (cell === null) return 'NULL';
  if (cell === 'NULL') return '\\NULL';
  const short = cell.length > maxCellLength ? `${cell.slice(0, maxCellLength).toWellFormed()}... (${cell.length} characters)` : cell;
  return short.replace(/[\\|\n\r]/g, (character) => escapes[character] ?? character);
}
