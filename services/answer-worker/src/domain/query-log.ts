/** A query that an answer rests on. */
export interface QueryRecord {
  readonly statement: string;
  readonly tables: readonly string[];
  readonly rows: number;
  readonly durationMs: number;
}

/** An answer has a dozen steps; a model that asks for more at each than this keeps only the first of them. */
export const mostQueries = 100;
/** Code units. All of them together still fit into a call beside the longest content. */
export const longestStatement = 4_000;

const cut = ' …';

/** With one more, as far as there is room; long statements are cut and say so. */
export function withQuery(log: readonly QueryRecord[], { statement, tables, rows, durationMs }: QueryRecord): readonly QueryRecord[] {
  if (log.length >= mostQueries) return log;
  const kept =
    statement.length > longestStatement ? `${statement.slice(0, longestStatement - cut.length).toWellFormed()}${cut}` : statement;
  return [...log, { statement: kept, tables, rows, durationMs: Math.max(0, Math.round(durationMs)) }];
}
