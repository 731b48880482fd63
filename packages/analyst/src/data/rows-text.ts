/** Rows of a query, as text; null for what is empty. */
export interface Rows {
  readonly rows: readonly (readonly (string | null)[])[];
  /** There are more than these. */
  readonly truncated: boolean;
}

const endOfRows = /^\((?:the first )?\d+ rows?(?:; there are more\b.*)?\)$/;

/** What `query` said: a header, a line each and how many they are; undefined where it says in words why there are none. */
export function readRows(text: string): Rows | undefined {
  if (text === '(no rows)') return { rows: [], truncated: false };
  const lines = text.split('\n');
  const end = lines.at(-1) ?? '';
  if (lines.length < 2 || !endOfRows.test(end)) return undefined;
  return { rows: lines.slice(1, -1).map((line) => line.split(' | ').map(readCell)), truncated: end.startsWith('(the first') };
}

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r' };

function readCell(cell: string): string | null {
  return cell === 'NULL' ? null : cell.replace(/\\(.)/g, (_, character: string) => escapes[character] ?? character);
}
