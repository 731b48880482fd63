import type { Catalog, CatalogColumn, CatalogForeignKey, CatalogTable } from './catalog.ts';
import { quoteIfNeeded } from './identifiers.ts';

/** A table of a scope, with the names as PostgreSQL keeps them. */
export interface ScopeEntry {
  readonly schema: string | null;
  readonly table: string;
  /** Null: all of them. */
  readonly columns: readonly string[] | null;
}

/** An entry as it was written, and as it was read; undefined when it could not be. */
export interface WrittenEntry {
  readonly text: string;
  readonly entry: ScopeEntry | undefined;
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
  /** All columns are in scope. */
  readonly whole: boolean;
  /** Empty unless all of it is in scope. */
  readonly primaryKey: readonly string[];
  readonly foreignKeys: readonly CatalogForeignKey[];
  readonly approximateRows: number | null;
}

/** A scope as data, as it is sent to another thread. */
export interface ScopeData {
  readonly tables: readonly ScopedTable[];
  readonly readOnly: boolean;
  /** Where an unqualified name is looked up first. */
  readonly defaultSchema: string;
}

export interface ResolvedScope extends ScopeData {
  /** The table of an unqualified or qualified name; undefined outside the scope, 'ambiguous' between two schemas. */
  find(schema: string | undefined, name: string): ScopedTable | 'ambiguous' | undefined;
}

/** An entry that the data source cannot satisfy. */
export interface UnknownEntry {
  readonly index: number;
  readonly reason: string;
}

export interface Resolution {
  readonly scope: ResolvedScope;
  readonly unknown: readonly UnknownEntry[];
}

/** Matches the entries with the catalog. Unknown ones are left out and reported; entries of one table add up. */
export function resolveEntries(catalog: Catalog, entries: readonly WrittenEntry[], readOnly: boolean): Resolution {
  const unknown: UnknownEntry[] = [];
  const columnsOf = new Map<CatalogTable, Set<string>>();
  entries.forEach((written, index) => {
    const found = resolveEntry(catalog, written);
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
  return { scope: createScope({ tables, readOnly, defaultSchema: catalog.defaultSchema }), unknown };
}

/** The scope of this data: what a name means follows from it alone. */
export const createScope = (data: ScopeData): ResolvedScope => ({ ...data, find: (schema, name) => find(data, schema, name) });

function resolveEntry(catalog: Catalog, { text, entry }: WrittenEntry): { table: CatalogTable; columns: readonly string[] } | string {
  if (entry === undefined) return `"${text}" is not a table, or a table with columns as orders(id, total)`;
  const table = findTable(catalog, entry);
  if (typeof table === 'string') return table;
  const all = table.columns.map(({ name }) => name);
  const missing = (entry.columns ?? []).filter((name) => !all.includes(name));
  if (missing.length > 0) return `the table ${entry.table} has no column ${missing.join(', ')}`;
  return { table, columns: entry.columns ?? all };
}

function findTable(catalog: Catalog, { schema, table }: ScopeEntry): CatalogTable | string {
  const named = catalog.tables.filter(({ name }) => name === table);
  const inSchema = named.filter((candidate) => candidate.schema === (schema ?? catalog.defaultSchema));
  const candidates = schema === null && inSchema.length === 0 ? named : inSchema;
  const [found] = candidates;
  if (found === undefined) return `there is no table ${schema === null ? table : `${schema}.${table}`}`;
  const schemas = candidates.map((candidate) => candidate.schema);
  return schemas.length > 1 ? `the table ${table} exists in several schemas: ${schemas.join(', ')}` : found;
}

function scopedTable(table: CatalogTable, columns: ReadonlySet<string>, unique: boolean): ScopedTable {
  const whole = columns.size === table.columns.length;
  const { schema, name, kind, fenced, comment, primaryKey, foreignKeys, approximateRows } = table;
  return {
    schema,
    name,
    written: unique ? quoteIfNeeded(name) : `${quoteIfNeeded(schema)}.${quoteIfNeeded(name)}`,
    kind,
    fenced,
    comment: whole ? comment : null,
    columns: table.columns.filter((column) => columns.has(column.name)),
    whole,
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

function find({ tables, defaultSchema }: ScopeData, schema: string | undefined, name: string) {
  const named = tables.filter((table) => table.name === name && (schema === undefined || table.schema === schema));
  if (named.length < 2) return named[0];
  return named.find((table) => table.schema === defaultSchema) ?? 'ambiguous';
}
