import { stemsOfName } from '../words/words.ts';

/** The kinds of columns that the analyst distinguishes. */
export type ColumnKind = 'number' | 'text' | 'date' | 'boolean' | 'other';

export interface Column {
  readonly name: string;
  readonly kind: ColumnKind;
}

export interface ForeignKey {
  readonly column: string;
  readonly table: string;
  readonly references: string;
}

export interface Table {
  readonly name: string;
  /** The name as statements write it. */
  readonly written: string;
  /** About how many rows there are, where that is known. */
  readonly rows: number | undefined;
  readonly columns: readonly Column[];
  readonly foreignKeys: readonly ForeignKey[];
}

export type Schema = readonly Table[];

/** Types as PostgreSQL writes them, as `numeric(10,2)` or `timestamp with time zone`; lists of values are none of these. */
export const kindOf = (type: string): ColumnKind => {
  if (type.endsWith('[]')) return 'other';
  if (/^(smallint|integer|bigint|int\d?|numeric|decimal|real|double|float\d?)\b/i.test(type)) return 'number';
  if (/^(date|timestamp)/i.test(type)) return 'date';
  if (/^bool/i.test(type)) return 'boolean';
  return /^(character|char|varchar|text|citext|bpchar|name|uuid|"char")/i.test(type) ? 'text' : 'other';
};

export const columnOf = (table: Table, name: string): Column | undefined => table.columns.find((column) => column.name === name);

export const tableOf = (schema: Schema, name: string): Table | undefined => schema.find((table) => table.name === name);

/** Adds keys by name: `customer_id` refers to `customers.id` where both are in scope. */
export function withKeysByName(schema: Schema): Schema {
  // The first of several tables with the same words in their names is the one that is kept.
  const byStems = new Map(schema.toReversed().map((table) => [stemsOfName(table.name).join(' '), table]));
  return schema.map((table) => {
    const withKey = new Set(table.foreignKeys.map(({ column }) => column));
    const guessed = table.columns.flatMap(({ name }) => (withKey.has(name) ? [] : keyByName(byStems, table, name)));
    const known = table.foreignKeys.filter(({ table: target, references }) => {
      const there = tableOf(schema, target);
      return there && columnOf(there, references);
    });
    return { ...table, foreignKeys: [...known, ...guessed] };
  });
}

function keyByName(byStems: ReadonlyMap<string, Table>, from: Table, column: string): ForeignKey[] {
  const stems = stemsOfName(column);
  if (stems.length < 2 || stems.at(-1) !== 'id') return [];
  const target = byStems.get(stems.slice(0, -1).join(' '));
  const id = target?.columns.find(({ name }) => name.toLowerCase() === 'id');
  return target && id && target !== from ? [{ column, table: target.name, references: id.name }] : [];
}

/** A way from a table to another along keys, each step to at most one row, so that nothing is counted twice. */
type Path = readonly ForeignKey[];

export function pathTo(schema: Schema, from: Table, to: string): Path | undefined {
  const queue: { table: Table; path: Path }[] = [{ table: from, path: [] }];
  const visited = new Set([from.name]);
  for (let next = queue.shift(); next; next = queue.shift()) {
    if (next.table.name === to) return next.path;
    for (const key of next.table.foreignKeys) {
      const table = tableOf(schema, key.table);
      if (!table || visited.has(table.name)) continue;
      visited.add(table.name);
      queue.push({ table, path: [...next.path, key] });
    }
  }
  return undefined;
}

/** Every table that rows of the base lead to, itself and the nearest ones first. */
export const reachable = (base: Table, schema: Schema): Table[] => {
  const withDistance = schema.flatMap((table) => {
    const path = pathTo(schema, base, table.name);
    return path ? [{ table, distance: path.length }] : [];
  });
  return withDistance.toSorted((a, b) => a.distance - b.distance).map(({ table }) => table);
};

/** Quotes a text as an SQL literal. */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** A column name as it is written after the alias of its table, where reserved words need no quotes. */
export const columnName = (name: string): string => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);
