/** The contents of a data source, from its system catalogues. */
export interface CatalogColumn {
  readonly name: string;
  /** As PostgreSQL writes it: `numeric(12,2)`. */
  readonly type: string;
  /** The type that a domain is made of, when the column's type is one. */
  readonly baseType?: string | null;
  readonly nullable: boolean;
  /** Computed by the database: never written. */
  readonly generated: boolean;
  /** May stand in GROUP BY. */
  readonly groupable: boolean;
  readonly comment: string | null;
  /** The labels of an enum. */
  readonly labels: readonly string[] | null;
}

/** The type by which PostgreSQL stores and compares values of the column. */
export const storedType = ({ type, baseType }: Pick<CatalogColumn, 'type' | 'baseType'>): string => baseType ?? type;

export interface CatalogForeignKey {
  readonly columns: readonly string[];
  readonly schema: string;
  readonly table: string;
  readonly references: readonly string[];
}

export interface CatalogTable {
  readonly schema: string;
  readonly name: string;
  readonly kind: 'table' | 'view';
  /** A view may leave rows out, and a condition evaluated below it would still see them. */
  readonly fenced: boolean;
  readonly comment: string | null;
  readonly columns: readonly CatalogColumn[];
  readonly primaryKey: readonly string[];
  readonly foreignKeys: readonly CatalogForeignKey[];
  /** The planner's estimate; null when never analysed. */
  readonly approximateRows: number | null;
}

export interface Catalog {
  /** Where an unqualified name is looked up. */
  readonly defaultSchema: string;
  readonly tables: readonly CatalogTable[];
  /** Rules by which the database changes rows itself: actions of foreign keys, and inheritance. */
  readonly effects?: readonly CatalogEffect[];
}

/** A change that the database makes itself when a row of a table is deleted or updated. */
export interface CatalogEffect {
  readonly schema: string;
  readonly table: string;
  /** An update of one of these is followed; null: of any column. */
  readonly columns: readonly string[] | null;
  readonly onDelete: 'delete' | 'update' | null;
  readonly onUpdate: 'delete' | 'update' | null;
  /** The table whose rows then change, by every name under which all of it can be read; empty when it cannot be read. */
  readonly reaches: readonly { readonly schema: string; readonly name: string }[];
  /** Where its rows are updated. */
  readonly sets: readonly string[];
}

interface RowChange {
  readonly table: { readonly schema: string; readonly name: string };
  /** The updated columns; undefined: rows are deleted. */
  readonly columns: readonly string[] | undefined;
}

/** All that follows from a change, and from what follows from it. */
export function effectsOf({ effects = [] }: Pick<Catalog, 'effects'>, change: RowChange): readonly CatalogEffect[] {
  const found = new Set<CatalogEffect>();
  const seen = new Set<string>();
  const open = [change];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const key = JSON.stringify([next.table.schema, next.table.name, next.columns]);
    if (seen.has(key)) continue;
    seen.add(key);
    for (const effect of effects) {
      const does = doneBy(effect, next);
      if (does === null) continue;
      found.add(effect);
      const columns = does === 'delete' ? undefined : effect.sets;
      open.push(...effect.reaches.map((table) => ({ table, columns })));
    }
  }
  return [...found];
}

function doneBy({ schema, table, columns, onDelete, onUpdate }: CatalogEffect, change: RowChange): CatalogEffect['onDelete'] {
  if (change.table.schema !== schema || change.table.name !== table) return null;
  if (change.columns === undefined) return onDelete;
  return columns === null || change.columns.some((name) => columns.includes(name)) ? onUpdate : null;
}
