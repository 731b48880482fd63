import { parseTableScope, type TableScope } from '@agent-service/contracts/agents/data-scope';
import { LRUCache } from 'lru-cache';
import { type Catalog, type CatalogForeignKey, type CatalogTable, quoteIfNeeded, tableKey } from './catalog.ts';
import { createScope, type ResolvedScope, type ScopedTable } from './scope.ts';

/** Tables that an agent may read: `orders`, `orders(id, total)`, `sales.orders`; and whether it may only read. */
export interface DataScope {
  readonly tables: readonly string[];
  readonly readOnly: boolean;
}

export interface Resolution {
  readonly scope: ResolvedScope;
  /** The entries that the data source cannot satisfy, by their index. */
  readonly unknown: readonly { readonly index: number; readonly reason: string }[];
  /** The same entries, as the scope has them. */
  readonly missing: readonly string[];
}

/** A wide scope takes milliseconds to resolve and to send to a thread; agents of one data source are few. */
const maxResolutions = 20;
const resolutions = new WeakMap<Catalog, LRUCache<string, Resolution>>();

/** The part of the scope that the data source can satisfy, and the entries that it cannot. The same object for the same catalog. */
export function resolveScope(catalog: Catalog, scope: DataScope): Resolution {
  const ofCatalog = resolutions.get(catalog) ?? new LRUCache<string, Resolution>({ max: maxResolutions });
  resolutions.set(catalog, ofCatalog);
  const key = JSON.stringify([scope.tables, scope.readOnly]);
  const resolution = ofCatalog.get(key) ?? matchEntries(catalog, scope);
  ofCatalog.set(key, resolution);
  return resolution;
}

/** Unknown entries are left out and reported; entries of one table add up. */
function matchEntries(catalog: Catalog, { tables: entries, readOnly }: DataScope): Resolution {
  const unknown: { index: number; reason: string }[] = [];
  const columnsOf = new Map<CatalogTable, Set<string>>();
  entries.forEach((text, index) => {
    const match = matchEntry(catalog, text);
    if (typeof match === 'string') {
      unknown.push({ index, reason: match });
      return;
    }
    const columns = columnsOf.get(match.table) ?? new Set();
    for (const column of match.columns) columns.add(column);
    columnsOf.set(match.table, columns);
  });
  const inScope = [...columnsOf.keys()];
  const scoped = [...columnsOf].map(([table, columns]) => scopedTable(table, columns, isOnlyOne(catalog, inScope, table)));
  const columnsInScope = new Map(Array.from(columnsOf, ([table, columns]) => [tableKey(table), columns]));
  const tables = scoped.map((table) => ({ ...table, foreignKeys: table.foreignKeys.filter((key) => isInside(key, columnsInScope)) }));
  const missing = unknown.map(({ index }) => entries[index] as string);
  return { scope: createScope({ tables, readOnly, defaultSchema: catalog.defaultSchema }), unknown, missing };
}

/** The table and columns of an entry, or the reason why there are none. */
function matchEntry(catalog: Catalog, text: string): { table: CatalogTable; columns: readonly string[] } | string {
  const entry = parseTableScope(text);
  if (entry === undefined) return `"${text}" is not a table, or a table with columns as orders(id, total)`;
  const table = findTable(catalog, entry);
  if (typeof table === 'string') return table;
  const all = new Set(table.columns.map(({ name }) => name));
  const missing = (entry.columns ?? []).filter((name) => !all.has(name));
  if (missing.length > 0) return `the table ${entry.table} has no column ${missing.join(', ')}`;
  return { table, columns: entry.columns ?? [...all] };
}

function findTable(catalog: Catalog, { schema, table: name }: TableScope): CatalogTable | string {
  const ofName = catalog.tables.filter((table) => table.name === name);
  const inSchema = ofName.filter((table) => table.schema === (schema ?? catalog.defaultSchema));
  const candidates = schema === null && inSchema.length === 0 ? ofName : inSchema;
  const [candidate] = candidates;
  if (candidate === undefined)
    return `there is no table ${schema === null ? name : `${schema}.${name}`}${catalog.more ? remarkOfMore : ''}`;
  const schemas = candidates.map((table) => table.schema);
  return schemas.length > 1 ? `the table ${name} exists in several schemas: ${schemas.join(', ')}` : candidate;
}

const remarkOfMore = ' among those that are read; an account that may read fewer tables gets others';

function scopedTable(table: CatalogTable, columns: ReadonlySet<string>, unique: boolean): ScopedTable {
  const hasAllColumns = columns.size === table.columns.length;
  const { schema, name, kind, needsFence, comment, primaryKey, foreignKeys, approximateRows } = table;
  return {
    schema,
    name,
    written: unique ? quoteIfNeeded(name) : `${quoteIfNeeded(schema)}.${quoteIfNeeded(name)}`,
    kind,
    needsFence,
    comment: hasAllColumns ? comment : null,
    columns: table.columns.filter((column) => columns.has(column.name)),
    hasAllColumns,
    primaryKey: primaryKey.every((column) => columns.has(column)) ? primaryKey : [],
    foreignKeys: foreignKeys.filter((key) => key.columns.every((column) => columns.has(column))),
    approximateRows,
  };
}

const isOnlyOne = (catalog: Catalog, inScope: readonly CatalogTable[], table: CatalogTable): boolean =>
  table.schema === catalog.defaultSchema || inScope.filter(({ name }) => name === table.name).length === 1;

/** A key to a table outside the scope would disclose its name. */
function isInside({ schema, table, references }: CatalogForeignKey, columnsInScope: ReadonlyMap<string, ReadonlySet<string>>): boolean {
  const columns = columnsInScope.get(tableKey({ schema, name: table }));
  return columns !== undefined && references.every((column) => columns.has(column));
}
