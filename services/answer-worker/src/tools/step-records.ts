/** A query of an answer. */
export interface QueryRecord {
  readonly statement: string;
  readonly tables: readonly string[];
  readonly rows: number;
  readonly durationMs: number;
}

/** An answer has a dozen steps. If a model runs more queries in them than this, only the first are recorded. */
export const maxQueries = 100;
/** UTF-16 units of a recorded statement. All statements of an answer fit into a call with the longest content. */
export const maxStatementLength = 4_000;

const ellipsis = ' …';

/** The log with one more query, unless it is full. A long statement is cut and ends with an ellipsis. */
export function withQuery(log: readonly QueryRecord[], { statement, tables, rows, durationMs }: QueryRecord): readonly QueryRecord[] {
  if (log.length >= maxQueries) return log;
  const text =
    statement.length > maxStatementLength
      ? `${statement.slice(0, maxStatementLength - ellipsis.length).toWellFormed()}${ellipsis}`
      : statement;
  return [...log, { statement: text, tables, rows, durationMs: Math.max(0, Math.round(durationMs)) }];
}

const maxDetailLength = 2_000;

/** The input of a tool for readers of the stream: the statement, the table, or the change without its values. */
export function detailOf(tool: string, input: unknown): string {
  const fields = typeof input === 'object' && input !== null ? (input as Readonly<Record<string, unknown>>) : {};
  return detail(tool, fields).slice(0, maxDetailLength).toWellFormed();
}

function detail(tool: string, { sql, table, operation, rows }: Readonly<Record<string, unknown>>): string {
  if (tool === 'query') return text(sql).trim();
  if (tool === 'describe_table') return text(table);
  if (tool !== 'change') return '';
  const count = Array.isArray(rows) ? rows.length : 0;
  return `${text(operation)} ${text(table)} (${count} ${count === 1 ? 'row' : 'rows'})`;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The parts of a change that the audit log records. */
export interface ChangeParts {
  readonly operation: string;
  readonly table: string;
  readonly rows: number;
}

const changeDetail = /^(insert|update|delete) (.*) \((\d+) rows?\)$/s;

/** The parts in the detail of a change; undefined for another detail. */
export function changeIn(detail: string): ChangeParts | undefined {
  const [, operation, table, rows] = changeDetail.exec(detail) ?? [];
  return operation === undefined || table === undefined ? undefined : { operation, table, rows: Number(rows) };
}

/** UTF-16 units of the keys in an audit entry. */
export const maxKeysLength = 4_000;

/**
 * The primary keys in the input of a change, as a JSON array of the first ones that fit. Empty where the input has none, and for an insert,
 * whose keys the database makes.
 */
export function keysOf(input: unknown): string {
  const { operation, rows } = fieldsOf(input);
  if ((operation !== 'update' && operation !== 'delete') || !Array.isArray(rows)) return '';
  let keys = '';
  for (const row of rows) {
    const { key } = fieldsOf(row);
    const more = `${keys === '' ? '' : `${keys},`}${JSON.stringify(fieldsOf(key))}`;
    if (more.length + 2 > maxKeysLength) break;
    keys = more;
  }
  return keys === '' ? '' : `[${keys}]`;
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
