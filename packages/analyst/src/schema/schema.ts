import { stemsOfName } from '../words/words.ts';

/** The kinds of columns that the analyst distinguishes. */
export type ColumnKind = 'number' | 'text' | 'date' | 'boolean' | 'other';

export interface Column {
  readonly name: string;
  readonly kind: ColumnKind;
  /** A day with a time. */
  readonly hasTime?: true;
  readonly isNeverEmpty?: true;
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
  /** Its rows may be those of a table. */
  readonly isView?: true;
  /** About how many rows there are, where that is known. */
  readonly rows: number | undefined;
  readonly columns: readonly Column[];
  /** The columns that name one row together, where that is known. */
  readonly primaryKey?: readonly string[];
  readonly foreignKeys: readonly ForeignKey[];
  /** Columns that name a row of another table only with a further column. */
  readonly compositeKeyColumns?: readonly string[];
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

export const tableOf = (schema: Schema, name: string): Table | undefined => lookupsOf(schema).tables.get(name);

/** Answers to what the interpretation of one question asks of a schema again and again. */
interface Lookups {
  readonly tables: ReadonlyMap<string, Table>;
  /** By the name of the table that the paths begin at, then by that of their end. */
  readonly paths: Map<string, ReadonlyMap<string, Path>>;
}

const lookups = new WeakMap<Schema, Lookups>();

function lookupsOf(schema: Schema): Lookups {
  const known = lookups.get(schema);
  if (known) return known;
  const created = { tables: new Map(schema.toReversed().map((table) => [table.name, table])), paths: new Map() };
  lookups.set(schema, created);
  return created;
}

/**
 * Adds keys by name: `customer_id` refers to `customers.id` where both are in scope, and no key of several columns says otherwise;
 * `hasUniqueIds` says whether the ids of a table without a known primary key differ.
 */
export function withKeysByName(schema: Schema, hasUniqueIds: (table: string) => boolean): Schema {
  const byStems = tablesByStems(schema);
  const namesOfColumns = new Map(schema.toReversed().map(({ name, columns }) => [name, new Set(columns.map((column) => column.name))]));
  return schema.map((table) => {
    const guessed = keysByName(byStems, table).flatMap(({ key, target }) => (target.primaryKey || hasUniqueIds(target.name) ? [key] : []));
    const known = table.foreignKeys.filter(({ table: target, references }) => namesOfColumns.get(target)?.has(references));
    // People who name a table to which two keys lead mean the first column more often: the source, or who sold and not who wrote it down.
    const positions = new Map(table.columns.map(({ name }, index) => [name, index]));
    const position = ({ column }: ForeignKey) => positions.get(column) ?? -1;
    return { ...table, foreignKeys: [...known.toSorted((a, b) => position(a) - position(b)), ...guessed] };
  });
}

/** Tables to which columns lead by their names, and whose primary key is not known: views, tables without one, and those with a part in scope. */
export function targetsInDoubt(schema: Schema): { readonly target: Table; readonly id: string }[] {
  const byStems = tablesByStems(schema);
  const keys = schema.flatMap((table) => keysByName(byStems, table)).filter(({ target }) => target.primaryKey === undefined);
  return [...new Map(keys.map(({ key, target }) => [target, key.references]))].map(([target, id]) => ({ target, id }));
}

/** The first of several tables with the same words in their names is the one that is kept. */
const tablesByStems = (schema: Schema): ReadonlyMap<string, Table> =>
  new Map(schema.toReversed().map((table) => [stemsOfName(table.name).join(' '), table]));

interface KeyByName {
  readonly key: ForeignKey;
  readonly target: Table;
}

function keysByName(byStems: ReadonlyMap<string, Table>, from: Table): KeyByName[] {
  const withKey = new Set([...from.foreignKeys.map(({ column }) => column), ...(from.compositeKeyColumns ?? [])]);
  return from.columns.flatMap(({ name }) => (withKey.has(name) ? [] : keyByName(byStems, from, name)));
}

function keyByName(byStems: ReadonlyMap<string, Table>, from: Table, column: string): KeyByName[] {
  const stems = stemsOfName(column);
  if (stems.length < 2 || stems.at(-1) !== 'id') return [];
  const target = byStems.get(stems.slice(0, -1).join(' '));
  const id = target?.columns.find(({ name }) => name.toLowerCase() === 'id');
  // A table of versions has several rows of one id.
  const mayBeUnique = target?.primaryKey === undefined || (target.primaryKey.length === 1 && target.primaryKey[0] === id?.name);
  return target && id && mayBeUnique && target !== from ? [{ key: { column, table: target.name, references: id.name }, target }] : [];
}

/** A way from a table to another along keys, each step to at most one row, so that nothing is counted twice. */
export type Path = readonly ForeignKey[];

export const pathTo = (schema: Schema, from: Table, to: string): Path | undefined => pathsFrom(schema, from).get(to);

/** The shortest path to each table that rows of this one lead to, itself included. */
function pathsFrom(schema: Schema, from: Table): ReadonlyMap<string, Path> {
  const { paths } = lookupsOf(schema);
  const known = paths.get(from.name);
  if (known) return known;
  const reached = new Map<string, Path>([[from.name, []]]);
  const queue: Table[] = [from];
  // The queue grows while it is read.
  for (const table of queue)
    for (const key of table.foreignKeys) {
      const target = tableOf(schema, key.table);
      if (!target || reached.has(target.name)) continue;
      reached.set(target.name, [...(reached.get(table.name) ?? []), key]);
      queue.push(target);
    }
  paths.set(from.name, reached);
  return reached;
}

/** The keys on the way to a table beside which another key leads to the same rows: a transfer has two warehouses. */
export function keysOfMany(schema: Schema, from: Table, to: string): { key: ForeignKey; others: readonly ForeignKey[] }[] {
  let owner: Table | undefined = from;
  return (pathTo(schema, from, to) ?? []).flatMap((key) => {
    const others = (owner?.foreignKeys ?? []).filter((one) => one.table === key.table && one.column !== key.column);
    owner = tableOf(schema, key.table);
    return others.length > 0 ? [{ key, others }] : [];
  });
}

/** Every table that rows of the base lead to, itself and the nearest ones first. */
export function reachable(base: Table, schema: Schema): Table[] {
  const distance = new Map([...pathsFrom(schema, base)].map(([name, path]) => [name, path.length]));
  const distanceOf = ({ name }: Table) => distance.get(name) ?? 0;
  return schema.filter(({ name }) => distance.has(name)).toSorted((a, b) => distanceOf(a) - distanceOf(b));
}

/** Quotes a text as an SQL literal. */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** A column name as it is written after the alias of its table, where reserved words need no quotes. */
export const columnName = (name: string): string => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);
