/**
 * A spreadsheet would run a cell that begins like a formula. In many countries it divides cells at semicolons, also within quotes that do not
 * begin one of its own cells, so that a part behind a semicolon is a cell as well.
 */
const formula = /(^|[;\t\r\n])(?=[\s"]*[=+\-@]|\t|\r)/g;

function cellOf(value: unknown): string {
  const text = value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
  const safe = typeof value === 'number' ? text : text.replaceAll(formula, "$1'");
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const lineOf = (row: readonly unknown[]) => `${row.map(cellOf).join(',')}\r\n`;

/** Lines of a CSV file. */
export const toCsv = (rows: readonly (readonly unknown[])[]): string => rows.map(lineOf).join('');
