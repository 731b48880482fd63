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

/** What a change is of, in words that others than its model understand. */
export interface ChangeParts {
  readonly operation: string;
  readonly table: string;
  readonly rows: number;
}

const changeDetail = /^(insert|update|delete) (.*) \((\d+) rows?\)$/s;

/** The parts of a change's detail; undefined where it is none. */
export function changeIn(detail: string): ChangeParts | undefined {
  const [, operation, table, rows] = changeDetail.exec(detail) ?? [];
  return operation === undefined || table === undefined ? undefined : { operation, table, rows: Number(rows) };
}
