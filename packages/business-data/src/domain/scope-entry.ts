/** One entry of `data_scope.tables`: `orders`, `sales.orders`, `orders(id, total)`, `"Sales Ops"."Targets"("Region")`. */
export interface ScopeEntry {
  readonly schema: string | null;
  readonly table: string;
  /** Null: all columns. */
  readonly columns: readonly string[] | null;
}

const name = `(?:"(?:[^"\\0]|"")+"|[\\p{L}_][\\p{L}\\p{N}_$]*)`;
const entryPattern = new RegExp(`^\\s*(${name})(?:\\s*\\.\\s*(${name}))?\\s*(?:\\(\\s*(${name}(?:\\s*,\\s*${name})*)\\s*\\))?\\s*$`, 'u');
const namePattern = new RegExp(name, 'gu');

/** Null when the text is no entry. Names outside of quotes keep their case; they are matched as written, then folded. */
export function parseScopeEntry(text: string): ScopeEntry | null {
  const [, first, second, columns] = entryPattern.exec(text) ?? [];
  if (first === undefined) return null;
  return {
    schema: second === undefined ? null : unquote(first),
    table: unquote(second ?? first),
    columns: columns === undefined ? null : (columns.match(namePattern) ?? []).map(unquote),
  };
}

const unquote = (written: string): string => (written.startsWith('"') ? written.slice(1, -1).replaceAll('""', '"') : written);
