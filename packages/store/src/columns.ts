/** The columns of rows that a statement reads from its parameters: the type of each, and its value. A `time` is in milliseconds since 1970. */
export type RowColumns<Row> = Readonly<Record<string, readonly [type: ColumnType, value: (row: Row) => unknown]>>;

type ColumnType = 'text' | 'integer' | 'bigint' | 'float8' | 'boolean' | 'jsonb' | 'date' | 'time';

const typeOf = (type: ColumnType): string => (type === 'time' ? 'float8' : type);

/** One row as its values, each a parameter. */
export const toValues = <Row>(columns: RowColumns<Row>, row: Row): unknown[] => Object.values(columns).map(([, value]) => value(row));

/** The rows as an array for each column: PostgreSQL reads many rows in half the time that it takes for JSON. */
export const toArrays = <Row>(columns: RowColumns<Row>, rows: readonly Row[]): unknown[][] =>
  Object.values(columns).map(([, value]) => rows.map(value));

/** The relation of rows in arrays. `placeholders` are those of the arrays, in the order of the columns. */
export const arrayRows = <Row>(columns: RowColumns<Row>, placeholders: readonly string[], alias: string): string =>
  `unnest(${Object.values(columns)
    .map(([type], index) => `${placeholders[index]}::${typeOf(type)}[]`)
    .join(', ')}) as ${alias}(${Object.keys(columns).join(', ')})`;

/** The rows as one JSON parameter, which is less to send for a few rows. */
export function toJson<Row>(columns: RowColumns<Row>, rows: readonly Row[]): string {
  const entries = Object.entries(columns);
  return JSON.stringify(
    rows.map((row) => {
      const record: Record<string, unknown> = {};
      for (const [name, [, value]] of entries) record[name] = value(row);
      return record;
    }),
  );
}

/** The relation of rows in a JSON parameter. */
export const jsonRows = <Row>(columns: RowColumns<Row>, placeholder: string, alias: string): string =>
  `jsonb_to_recordset(${placeholder}::jsonb) as ${alias}(${columnTypes(columns)})`;

/** The columns with their types, as the definition of a relation. */
export const columnTypes = <Row>(columns: RowColumns<Row>): string =>
  Object.entries(columns)
    .map(([name, [type]]) => `${name} ${typeOf(type)}`)
    .join(', ');

/** The columns as expressions of the types that tables have. `source` is a column of such a relation, or a parameter. */
export const columnValues = <Key extends string>(
  columns: Readonly<Record<Key, readonly [type: ColumnType, ...unknown[]]>>,
  source: (name: string, index: number) => string = (name) => name,
): Readonly<Record<Key, string>> =>
  Object.fromEntries(
    (Object.keys(columns) as Key[]).map((name, index) => {
      const value = source(name, index);
      return [name, columns[name][0] === 'time' ? `to_timestamp(${value}::float8 / 1000)` : value];
    }),
  ) as Record<Key, string>;

/** An insert from a map of columns to values. */
export const insertInto = (table: string, values: Readonly<Record<string, string>>): string =>
  `insert into ${table} (${Object.keys(values).join(', ')}) select ${Object.values(values).join(', ')}`;

/** The assignments of an update, or of an insert that meets its own row (`excluded`). */
export const assign = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${name} = ${value}`)
    .join(', ');
