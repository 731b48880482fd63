import type { Catalog, CatalogColumn, CatalogForeignKey, CatalogTable } from './catalog.ts';
import { quoteIfNeeded } from './identifiers.ts';
import { parseScopeEntry, type ScopeEntry } from './scope-entry.ts';

export interface DataScope {
  readonly tables: readonly string[];
  readonly readOnly: boolean;
}

/** A table as far as it is in scope. */
export interface ScopedTable {
  readonly schema: string;
  readonly name: string;
  /** As statements write it: qualified only where the name alone would mean another table. */
  readonly written: string;
  readonly kind: CatalogTable['kind'];
  readonly fenced: boolean;
  readonly comment: string | null;
  readonly columns: readonly CatalogColumn[];
  /** Empty unless all of it is in scope. */
  readonly primaryKey: readonly string[];
  readonly foreignKeys: readonly CatalogForeignKey[];
  readonly approximateRows: number | null;
}

export interface ResolvedScope {
  readonly tables: readonly ScopedTable[];
  readonly readOnly: boolean;
  /** What an unqualified or qualified name means; undefined outside the scope, 'ambiguous' between two schemas. */
  find(schema: string | undefined, name: string): ScopedTable | 'ambiguous' | undefined;
}

/** An entry that the data source can not satisfy. */
export interface UnknownEntry {
  readonly index: number;
  readonly reason: string;
}

export interface Resolution {
  readonly scope: ResolvedScope;
  readonly unknown: readonly UnknownEntry[];
}

/** Matches the entries with what there is. What is unknown is left out and said; entries of one table add up. */
export function resolveScope(catalog: Catalog, { tables: entries, readOnly }: DataScope): Resolution {
  const unknown: UnknownEntry[] = [];
  const columnsOf = new Map<CatalogTable, Set<string>>();
  entries.forEach((text, index) => {
    const found = resolveEntry(catalog, text);
    if (typeof found === 'string') {
      unknown.push({ index, reason: found });
      return;
    }
    const columns = columnsOf.get(found.table) ?? new Set();
    for (const column of found.columns) columns.add(column);
    columnsOf.set(found.table, columns);
  });
  const found = [...columnsOf].map(([table, columns]) => scopedTable(table, columns, isOnlyOne(catalog, [...columnsOf.keys()], table)));
  const tables = found.map((table) => ({ ...table, foreignKeys: table.foreignKeys.filter((key) => isInside(key, found)) }));
  return { scope: { tables, readOnly, find: (schema, name) => find(catalog, tables, schema, name) }, unknown };
}

function resolveEntry(catalog: Catalog, text: string): { table: CatalogTable; columns: string[] } | string {
  const entry = parseScopeEntry(text);
  if (entry === null) return `"${text}" is not a table, or a table with columns as orders(id, total)`;
  const table = findTable(catalog, entry);
  if (typeof table === 'string') return table;
  const columns = (entry.columns ?? table.columns.map(({ name }) => name)).map((name) => ({ name, found: match(table.columns, name) }));
  const missing = columns.filter(({ found }) => found === undefined).map(({ name }) => name);
  if (missing.length > 0) return `the table ${entry.table} has no column ${missing.join(', ')}`;
  return { table, columns: columns.flatMap(({ found }) => (found ? [found.name] : [])) };
}

function findTable(catalog: Catalog, { schema, table }: ScopeEntry): CatalogTable | string {
  const named = catalog.tables.filter((candidate) => candidate.name === table || candidate.name === table.toLowerCase());
  const inSchema = (wanted: string) => named.filter((candidate) => candidate.schema === wanted);
  const candidates =
    schema === null ? firstOf(inSchema(catalog.defaultSchema), named) : firstOf(inSchema(schema), inSchema(schema.toLowerCase()));
  const found = candidates.find(({ name }) => name === table) ?? candidates[0];
  if (found === undefined) return `there is no table ${schema === null ? table : `${schema}.${table}`}`;
  const schemas = new Set(candidates.map((candidate) => candidate.schema));
  return schemas.size > 1 ? `the table ${table} exists in several schemas: ${[...schemas].join(', ')}` : found;
}

const firstOf = <T>(first: T[], second: T[]): T[] => (first.length > 0 ? first : second);

/** As written, else folded as PostgreSQL folds a name outside of quotes. */
const match = <T extends { name: string }>(list: readonly T[], name: string): T | undefined =>
  list.find((item) => item.name === name) ?? list.find((item) => item.name === name.toLowerCase());

function scopedTable(table: CatalogTable, columns: ReadonlySet<string>, unique: boolean): ScopedTable {
  const { schema, name, kind, fenced, comment, primaryKey, foreignKeys, approximateRows } = table;
  return {
    schema,
    name,
    written: unique ? quoteIfNeeded(name) : `${quoteIfNeeded(schema)}.${quoteIfNeeded(name)}`,
    kind,
    fenced,
    comment: columns.size === table.columns.length ? comment : null,
    columns: table.columns.filter((column) => columns.has(column.name)),
    primaryKey: primaryKey.every((column) => columns.has(column)) ? primaryKey : [],
    foreignKeys: foreignKeys.filter((key) => key.columns.every((column) => columns.has(column))),
    approximateRows,
  };
}

const isOnlyOne = (catalog: Catalog, inScope: readonly CatalogTable[], table: CatalogTable): boolean =>
  table.schema === catalog.defaultSchema || inScope.filter(({ name }) => name === table.name).length === 1;

/** A key that leads outside of the scope would name what is there. */
function isInside(key: CatalogForeignKey, tables: readonly ScopedTable[]): boolean {
  const target = tables.find(({ schema, name }) => schema === key.schema && name === key.table);
  return target !== undefined && key.references.every((column) => target.columns.some(({ name }) => name === column));
}

function find(catalog: Catalog, tables: readonly ScopedTable[], schema: string | undefined, name: string) {
  const named = tables.filter((table) => table.name === name && (schema === undefined || table.schema === schema));
  if (named.length < 2) return named[0];
  return named.find((table) => table.schema === catalog.defaultSchema) ?? 'ambiguous';
}
