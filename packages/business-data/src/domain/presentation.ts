import type { CatalogColumn } from './catalog.ts';
import { quoteIfNeeded } from './identifiers.ts';
import type { ScopedTable } from './scope.ts';

/** A line each: the name as statements write it, its columns, roughly how many rows. */
export function listed(tables: readonly ScopedTable[]): string {
  if (tables.length === 0) return '(no tables are available)';
  return tables.map((table) => `${table.written}(${names(table)})${size(table)}${remark(table.comment)}`).join('\n');
}

const names = ({ columns }: ScopedTable): string => columns.map(({ name }) => quoteIfNeeded(name)).join(', ');

const size = ({ approximateRows: rows }: ScopedTable): string => (rows === null ? '' : ` about ${rows} rows`);

const longestRemark = 300;

const remark = (comment: string | null): string =>
  comment === null || comment.trim() === '' ? '' : ` -- ${comment.replace(/\s+/g, ' ').slice(0, longestRemark)}`;

export function describe(table: ScopedTable): string {
  const keys = table.foreignKeys.map(
    ({ columns, schema, table: target, references }) =>
      `(${columns.map(quoteIfNeeded).join(', ')}) refers to ${quoteIfNeeded(schema)}.${quoteIfNeeded(target)} (${references.map(quoteIfNeeded).join(', ')})`,
  );
  const key = table.primaryKey.length > 0 ? [`primary key (${table.primaryKey.map(quoteIfNeeded).join(', ')})`] : [];
  return [`${table.kind} ${table.written}${size(table)}${remark(table.comment)}`, ...table.columns.map(line), ...key, ...keys].join('\n');
}

const mostLabels = 50;

function line({ name, type, nullable, generated, labels, comment }: CatalogColumn): string {
  const values =
    labels === null
      ? ''
      : `, one of ${labels
          .slice(0, mostLabels)
          .map((label) => `'${label}'`)
          .join(', ')}`;
  return `- ${quoteIfNeeded(name)}: ${type}${values}${nullable ? '' : ', never empty'}${generated ? ', computed' : ''}${remark(comment)}`;
}

const longestCell = 2_000;

export interface TextTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
  readonly truncated: boolean;
}

/** Rows for a model to read: a header, a line each, and whether there is more. A cell never looks like another line or column. */
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
  const short = cell.length > longestCell ? `${cell.slice(0, longestCell)}... (${cell.length} characters)` : cell;
  return short.replace(/[\\|\n\r]/g, (character) => escapes[character] ?? character);
}
