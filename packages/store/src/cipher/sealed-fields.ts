import type { Sql } from '../sql.ts';

/** A column or JSON field with sealed values. */
export interface SealedField {
  /** The name that operators see: table and column. */
  readonly name: string;
  readonly table: string;
  /** The SQL expression of the sealed value; null and '' mean no value. */
  readonly value: string;
}

/** A column whose values are sealed again under newer keys. Values of other fields expire, so they are only counted. */
export interface SealedColumn extends SealedField {
  /** The table's primary key, all of it text. */
  readonly key: readonly string[];
  /** The context that the value of this row was sealed with. */
  contextOf(key: Readonly<Record<string, string>>): string;
}

export interface SealedRow {
  readonly key: readonly string[];
  readonly context: string;
  readonly sealed: string;
}

export const isColumn = (field: SealedField): field is SealedColumn => 'contextOf' in field;

export function sealedColumn({
  table,
  column,
  ...rest
}: { table: string; column: string } & Pick<SealedColumn, 'key' | 'contextOf'>): SealedColumn {
  return { name: `${table}.${column}`, table, value: column, ...rest };
}

/** The text before the colon, at most six characters, so that no more is read of a value that is not sealed. */
const versionIn = (value: string) => `split_part(left(${value}, 6), ':', 1)`;

/** The index that finds values by their key's version, so that the cost of a search does not grow with the table. */
export function keyVersionIndex({ name, table, value, key = [] }: SealedField & { readonly key?: readonly string[] }): string {
  const columns = [`(${versionIn(value)})`, ...key].join(', ');
  return `create index ${name.replaceAll('.', '_')}_key_version_index on ${table} (${columns}) where ${value} <> '';`;
}

/** How many values of a field are under one version of the keys. */
export interface VersionCount {
  /** Undefined if the stored text names none. */
  readonly version: number | undefined;
  /** The number of values under this version; 0 for the newest version, whose values are not counted. */
  readonly values: number;
}

/** Counts the values of a field under each version in use, each found by one step along the index. */
export async function countVersions(sql: Sql, { table, value }: SealedField, newest: number): Promise<VersionCount[]> {
  const version = versionIn(value);
  const rows = await sql<{ version: string; values: string }>(
    `with recursive found as (
       (select ${version} as version from ${table} where ${value} <> '' order by 1 limit 1)
       union all
       select (select ${version} from ${table} where ${value} <> '' and ${version} > found.version order by 1 limit 1)
       from found where found.version is not null
     )
     select version, case when version = $1 then 0 else
       (select count(*) from ${table} where ${value} <> '' and ${version} = found.version) end as values
     from found where version is not null`,
    [String(newest)],
  );
  return rows.map((row) => ({ version: /^\d{1,5}$/.test(row.version) ? Number(row.version) : undefined, values: Number(row.values) }));
}

interface ColumnPage {
  readonly version: number;
  /** The key of the last row of the page before; empty for the first page. */
  readonly after: readonly string[];
  readonly limit: number;
}

/** Returns the next rows under one version, by key. */
export async function rowsUnder(sql: Sql, field: SealedColumn, { version, after, limit }: ColumnPage): Promise<SealedRow[]> {
  const { table, value, key } = field;
  const placeholders = key.map((_, index) => `$${index + 3}`).join(', ');
  const rows = await sql<Record<string, string>>(
    `select ${key.join(', ')}, ${value} as sealed_value from ${table}
     where ${value} <> '' and ${versionIn(value)} = $1 and (${key.join(', ')}) > (${placeholders})
     order by ${key.join(', ')} limit $2`,
    [String(version), limit, ...key.map((_, index) => after[index] ?? '')],
  );
  return rows.map((row) => ({
    key: key.map((name) => row[name] ?? ''),
    context: field.contextOf(row),
    sealed: row['sealed_value'] ?? '',
  }));
}

/** Replaces the value unless it has changed since it was read; returns false if it has. */
export async function replaceSealed(sql: Sql, { table, value, key }: SealedColumn, row: SealedRow, sealed: string): Promise<boolean> {
  const isRow = key.map((name, index) => `${name} = $${index + 3}`).join(' and ');
  const rows = await sql(`update ${table} set ${value} = $1 where ${value} = $2 and ${isRow} returning 1`, [
    sealed,
    row.sealed,
    ...row.key,
  ]);
  return rows.length > 0;
}
