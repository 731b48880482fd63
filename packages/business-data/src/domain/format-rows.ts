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
