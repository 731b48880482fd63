/** What a data source holds, as its own catalogues say. */
export interface CatalogColumn {
  readonly name: string;
  /** As PostgreSQL writes it: `numeric(12,2)`. */
  readonly type: string;
  readonly nullable: boolean;
  /** Computed by the database: never written. */
  readonly generated: boolean;
  /** May stand in GROUP BY. */
  readonly groupable: boolean;
  readonly comment: string | null;
  /** The labels of an enum. */
  readonly labels: readonly string[] | null;
}

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
}
