/** A cell that begins like a formula would be run by a spreadsheet. */
const formula = /^[=+\-@\t\r]/;

function cellOf(value: unknown): string {
  const text = value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
  const safe = typeof value !== 'number' && formula.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Rows of a CSV file, with the names of the columns first. */
export const toCsv = (names: readonly string[], rows: readonly (readonly unknown[])[]): string =>
  [names, ...rows].map((row) => `${row.map(cellOf).join(',')}\r\n`).join('');

/** Saves a text as a file of the user's. */
export function download(name: string, type: string, parts: string[]) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = Object.assign(document.createElement('a'), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
