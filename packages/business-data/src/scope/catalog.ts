/** Characters of the comment on a table or column. */
export const maxCommentLength = 500;
export const maxLabels = 50;

export interface CatalogColumn {
  readonly name: string;
  /** As PostgreSQL writes it: `numeric(12,2)`. */
  readonly type: string;
  /** The base type, when the column's type is a domain. */
  readonly baseType?: string | null;
  readonly nullable: boolean;
  /** Computed by the database and never written. */
  readonly generated: boolean;
  /** May stand in GROUP BY. */
  readonly groupable: boolean;
  /** At most `maxCommentLength` characters. */
  readonly comment: string | null;
  /** The first `maxLabels` labels of an enum. */
  readonly labels: readonly string[] | null;
}

/** The type with which PostgreSQL stores and compares values of the column. */
export const storedType = ({ type, baseType }: Pick<CatalogColumn, 'type' | 'baseType'>): string => baseType ?? type;

export interface TableName {
  readonly schema: string;
  readonly name: string;
}

/** One text for each table, as the key of a map. */
export const tableKey = ({ schema, name }: TableName): string => JSON.stringify([schema, name]);

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
  /** A view that filters rows without security_barrier: a condition could be evaluated before its filter and see every row. */
  readonly needsFence: boolean;
  readonly comment: string | null;
  readonly columns: readonly CatalogColumn[];
  readonly primaryKey: readonly string[];
  readonly foreignKeys: readonly CatalogForeignKey[];
  /** The planner's estimate; null before the first ANALYZE. */
  readonly approximateRows: number | null;
}

/** The tables of a data source, as its survey reads them from the system catalogues. */
export interface Catalog {
  /** The schema of unqualified names. */
  readonly defaultSchema: string;
  readonly tables: readonly CatalogTable[];
  /** There are more tables than a survey reads. */
  readonly more?: boolean;
  /** Rules by which the database changes rows itself: actions of foreign keys, and inheritance. */
  readonly effects: readonly CatalogEffect[];
}

/** A change that the database makes itself when a row of a table is deleted or updated. */
export interface CatalogEffect {
  readonly schema: string;
  readonly table: string;
  /** The effect follows an update of one of these columns; null: of any column. */
  readonly columns: readonly string[] | null;
  readonly onDelete: 'delete' | 'update' | null;
  readonly onUpdate: 'delete' | 'update' | null;
  /** The table whose rows then change, under every name by which all its columns can be read; empty when they cannot be read. */
  readonly reaches: readonly TableName[];
  /** The columns that are updated there. */
  readonly sets: readonly string[];
}

const plainIdentifier = /^[a-z_][a-z0-9_$]*$/;

/** Words that PostgreSQL does not take as a table's or a column's name without quotes. */
const reserved = new Set(
  `all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate collation column concurrently
   constraint create cross current_catalog current_date current_role current_schema current_time current_timestamp current_user default
   deferrable desc distinct do else end except false fetch for foreign freeze from full grant group having ilike in initially inner
   intersect into is isnull join lateral leading left like limit localtime localtimestamp natural not notnull null offset on only or
   order outer overlaps placing primary references returning right select session_user similar some symmetric system_user table
   tablesample then to trailing true union unique user using variadic verbose when where window with between bigint bit boolean char
   character coalesce dec decimal exists extract float greatest grouping inout int integer interval json json_array json_arrayagg
   json_exists json_object json_objectagg json_query json_scalar json_serialize json_table json_value least merge_action national nchar
   none normalize nullif numeric out overlay position precision real row setof smallint substring time timestamp treat trim values
   varchar xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable`.split(/\s+/),
);

/** A name as it must be written in a statement. */
export const quoteIfNeeded = (name: string): string => (plainIdentifier.test(name) && !reserved.has(name) ? name : quote(name));

export const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;
