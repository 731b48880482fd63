import type { CatalogColumn, CatalogForeignKey, CatalogTable } from './catalog.ts';

/** A table as far as it is in scope. */
export interface ScopedTable {
  readonly schema: string;
  readonly name: string;
  /** As statements write it: qualified only where the name alone would mean another table. */
  readonly written: string;
  readonly kind: CatalogTable['kind'];
  readonly needsFence: boolean;
  readonly comment: string | null;
  readonly columns: readonly CatalogColumn[];
  /** All columns are in scope. */
  readonly hasAllColumns: boolean;
  /** Empty unless all its columns are in scope. */
  readonly primaryKey: readonly string[];
  readonly foreignKeys: readonly CatalogForeignKey[];
  readonly approximateRows: number | null;
}

/** A scope as it is sent to a thread. */
export interface ScopeData {
  readonly tables: readonly ScopedTable[];
  readonly readOnly: boolean;
  /** The schema in which an unqualified name is looked up first. */
  readonly defaultSchema: string;
}

export interface ResolvedScope extends ScopeData {
  /** The table of an unqualified or qualified name; undefined outside the scope, 'ambiguous' between two schemas. */
  find(schema: string | undefined, name: string): ScopedTable | 'ambiguous' | undefined;
}

/** Resolves names by this data alone. */
export const createScope = (data: ScopeData): ResolvedScope => ({ ...data, find: (schema, name) => find(data, schema, name) });

/** The table that statements write so; else the only one of this name, which may also stand without its quotes. */
export function findWritten({ tables }: Pick<ScopeData, 'tables'>, text: string): ScopedTable | undefined {
  const named = tables.filter(({ name }) => name === text);
  return tables.find(({ written }) => written === text) ?? (named.length === 1 ? named[0] : undefined);
}

function find({ tables, defaultSchema }: ScopeData, schema: string | undefined, name: string) {
  const candidates = tables.filter((table) => table.name === name && (schema === undefined || table.schema === schema));
  if (candidates.length < 2) return candidates[0];
  return candidates.find((table) => table.schema === defaultSchema) ?? 'ambiguous';
}
