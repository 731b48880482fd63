import type { DataSourceTable } from '@agent-service/client';
import { formatTableScope, parseTableScope } from '@agent-service/contracts/agents/data-scope';

/** A table with those of its columns that an agent may read. */
export interface ScopedTable {
  table: DataSourceTable;
  columns: ReadonlySet<string>;
}

export interface ScopeSelection {
  /** By the table's name in a scope. */
  tables: ReadonlyMap<string, ScopedTable>;
  /** Entries that name a table or column which the data source does not have. */
  unknown: readonly string[];
}

/** Reads the entries of a `data_scope` against the tables of the data source. */
export function readScope(entries: readonly string[], source: readonly DataSourceTable[]): ScopeSelection {
  const byName = tablesByName(source);
  const tables = new Map<string, ScopedTable>();
  const unknown: string[] = [];
  for (const entry of entries) {
    const parsed = parseTableScope(entry);
    const table = parsed && byName.get(formatTableScope({ ...parsed, columns: null }));
    const names = table?.columns.map(({ name }) => name) ?? [];
    const columns = parsed?.columns ?? names;
    if (!table || columns.some((name) => !names.includes(name))) unknown.push(entry);
    if (!table) continue;
    const earlier = tables.get(table.name)?.columns ?? [];
    tables.set(table.name, { table, columns: new Set([...earlier, ...columns.filter((name) => names.includes(name))]) });
  }
  return { tables, unknown };
}

const knownNames = new WeakMap<readonly DataSourceTable[], ReadonlyMap<string, DataSourceTable>>();

/** The names of thousands of tables are read once for each list of them, since a change of a scope asks for them with every entry. */
function tablesByName(source: readonly DataSourceTable[]): ReadonlyMap<string, DataSourceTable> {
  const byName = knownNames.get(source) ?? new Map(source.flatMap((table) => namesOf(table).map((name) => [name, table])));
  knownNames.set(source, byName);
  return byName;
}

/** A table may be named with its schema and, where the source does so, without. */
function namesOf(table: DataSourceTable): string[] {
  const parsed = parseTableScope(table.name);
  if (!parsed) return [table.name];
  return [formatTableScope(parsed), formatTableScope({ ...parsed, schema: table.schema })];
}

/** The entry that names a table with these columns; of no column there is none. */
function scopeEntry({ table, columns }: ScopedTable): string | undefined {
  if (columns.size === 0) return undefined;
  if (columns.size === table.columns.length) return table.name;
  const parsed = parseTableScope(table.name);
  const ordered = table.columns.map(({ name }) => name).filter((name) => columns.has(name));
  return parsed && formatTableScope({ ...parsed, columns: ordered });
}

/** The entries after one table got other columns. The entries of other tables stay as they were written. */
export function changeScope(entries: readonly string[], source: readonly DataSourceTable[], change: ScopedTable): string[] {
  const isOther = (entry: string) => !readScope([entry], source).tables.has(change.table.name);
  const changed = scopeEntry(change);
  return [...entries.filter(isOther), ...(changed === undefined ? [] : [changed])];
}
