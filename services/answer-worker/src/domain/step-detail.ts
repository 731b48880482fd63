const longestDetail = 2_000;

/** What a tool was asked, for somebody who reads along: the statement, the table, or the change without its values. */
export function detailOf(tool: string, input: unknown): string {
  const asked = typeof input === 'object' && input !== null ? (input as Readonly<Record<string, unknown>>) : {};
  return detail(tool, asked).slice(0, longestDetail).toWellFormed();
}

function detail(tool: string, { sql, table, operation, rows }: Readonly<Record<string, unknown>>): string {
  if (tool === 'query') return text(sql).trim();
  if (tool === 'describe_table') return text(table);
  if (tool !== 'change') return '';
  const count = Array.isArray(rows) ? rows.length : 0;
  return `${text(operation)} ${text(table)} (${count} ${count === 1 ? 'row' : 'rows'})`;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
