/** A query that an answer rests on. */
export interface QueryRecord {
  readonly statement: string;
  readonly tables: readonly string[];
  readonly rows: number;
  readonly durationMs: number;
}

/** An answer has a dozen steps. If a model runs more queries in them than this, only the first are recorded. */
export const maxQueries = 100;
/** In UTF-16 units. All statements together still fit into a call beside the longest content. */
export const maxStatementLength = 4_000;

const cut = ' …';

/** The log with one more query, unless it is full. A long statement is cut and ends with an ellipsis. */
export function withQuery(log: readonly QueryRecord[], { statement, tables, rows, durationMs }: QueryRecord): readonly QueryRecord[] {
  if (log.length >= maxQueries) return log;
  const text =
    statement.length > maxStatementLength ? `${statement.slice(0, maxStatementLength - cut.length).toWellFormed()}${cut}` : statement;
  return [...log, { statement: text, tables, rows, durationMs: Math.max(0, Math.round(durationMs)) }];
}
