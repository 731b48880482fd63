import type { Sql } from '../sql.ts';

/** Where sealed values lie. */
export interface SealedPlace {
  /** As operators read it: table and column. */
  readonly name: string;
  readonly table: string;
  /** The sealed value, in SQL; null and '' are none. */
  readonly value: string;
}

/** A column whose values stay until they are sealed anew. Those of another place go by themselves, and are only counted. */
export interface SealedColumn extends SealedPlace {
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

export const isColumn = (place: SealedPlace): place is SealedColumn => 'contextOf' in place;

export function sealedColumn({
  table,
  column,
  ...rest
}: { table: string; column: string } & Pick<SealedColumn, 'key' | 'contextOf'>): SealedColumn {
  return { name: `${table}.${column}`, table, value: column, ...rest };
}

/** What stands before the colon. Of something that is no sealed value no more than this is looked at. */
const versionIn = (value: string) => `split_part(left(${value}, 6), ':', 1)`;

/** The index by which values are found by their key's version: what it costs to look does not grow with the table. */
export function keyVersionIndex({ name, table, value, key = [] }: SealedPlace & { readonly key?: readonly string[] }): string {
  const columns = [`(${versionIn(value)})`, ...key].join(', ');
  return `create index ${name.replaceAll('.', '_')}_key_version_index on ${table} (${columns}) where ${value} <> '';`;
}

interface VersionStock {
  /** Undefined where what is stored names none. */
  readonly version: number | undefined;
  /** How many values are sealed under it; the newest one's are not counted. */
  readonly values: number;
}

/** Which versions there are, each found by one step into the index. */
export async function stockOf(sql: Sql, { table, value }: SealedPlace, newest: number): Promise<VersionStock[]> {
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

export interface Page {
  readonly version: number;
  /** The key of the last row that was looked at; empty for none. */
  readonly after: readonly string[];
  readonly limit: number;
}

/** The next rows under one version, by key. */
export async function rowsUnder(sql: Sql, place: SealedColumn, { version, after, limit }: Page): Promise<SealedRow[]> {
  const { table, value, key } = place;
  const placeholders = key.map((_, index) => `$${index + 3}`).join(', ');
  const rows = await sql<Record<string, string>>(
    `select ${key.join(', ')}, ${value} as sealed_value from ${table}
     where ${value} <> '' and ${versionIn(value)} = $1 and (${key.join(', ')}) > (${placeholders})
     order by ${key.join(', ')} limit $2`,
    [String(version), limit, ...key.map((_, index) => after[index] ?? '')],
  );
  return rows.map((row) => ({
    key: key.map((name) => row[name] ?? ''),
    context: place.contextOf(row),
    sealed: row['sealed_value'] ?? '',
  }));
}

/** Whoever has changed the value meanwhile keeps theirs: then it answers false. */
export async function replaceSealed(sql: Sql, { table, value, key }: SealedColumn, row: SealedRow, sealed: string): Promise<boolean> {
  const isRow = key.map((name, index) => `${name} = $${index + 3}`).join(' and ');
  const rows = await sql(`update ${table} set ${value} = $1 where ${value} = $2 and ${isRow} returning 1`, [
    sealed,
    row.sealed,
    ...row.key,
  ]);
  return rows.length > 0;
}
