import { Refusal } from '../failure.ts';
import { editDistance } from '../scope/edit-distance.ts';
import type { ScopedTable } from '../scope/scope.ts';
import type { Tree } from './tree.ts';
import type { Bounds, Collection, RowTotal } from './value-size.ts';

/** A query of WITH. */
export interface Cte {
  /** The query level of its WITH clause. */
  readonly level: number;
  columns(): Columns;
}

export interface CteScope {
  readonly entries: ReadonlyMap<string, Cte>;
  readonly parent: CteScope | undefined;
}

/** The names that are visible to a part of a statement. */
export interface Context {
  readonly namespace: Namespace | undefined;
  readonly ctes: CteScope | undefined;
  readonly windows: ReadonlySet<string>;
  readonly level: number;
}

/** A FROM clause, or an item of one: the relations that it makes visible, and the columns of `*`. */
export interface FromPart {
  readonly relations: readonly Relation[];
  readonly star: Columns;
}

/** The functions of the binder, which call each other, and the totals of one statement. */
export interface Binder {
  /** Output columns of a query. `onLeft` is called with those of a UNION's left side before its right side is bound. */
  select(select: Tree, context: Context, onLeft?: (columns: Columns) => void): Columns;
  from(items: readonly unknown[], context: Context): FromPart;
  /** Estimated length of the value in characters. */
  expression(node: unknown, context: Context): number;
  /** Output columns of a subquery that was bound before. */
  columnsOf(select: unknown): Columns | undefined;
  table(schema: string, name: string): ScopedTable | undefined;
  /** The values that its aggregates collect. */
  readonly collection: Collection;
  readonly rows: RowTotal;
  readonly bounds: Bounds;
  /** True when an expression may have a row type of the data source, whose columns are not known. */
  mayBeComposite(): boolean;
  /** True when an expression may be of type tsvector. */
  mayBeTsvector(): boolean;
  /** True when an expression may be of type jsonpath. */
  mayBeJsonpath(): boolean;
}

/** An output column of a relation. */
export interface Column {
  readonly name: string;
  /** Estimated length of a value in characters, as text. */
  readonly size: number;
  /** A column of a table, unchanged. */
  readonly stored?: boolean;
  /** `*` leaves it out: a SEARCH or CYCLE column, seen from below the level of its WITH clause. */
  readonly hidden?: boolean;
}

/** Output columns in order. Every column listed exists; an open list may be followed by columns that are not known. */
export interface Columns {
  readonly list: readonly Column[];
  readonly open: boolean;
}

export interface Relation {
  /** Undefined: only its columns can be named. */
  readonly name: string | undefined;
  readonly columns: Columns;
}

/** The relations that one query level sees, and the level around it. */
interface Namespace {
  readonly relations: readonly Relation[];
  readonly parent: Namespace | undefined;
}

export const noColumns: Columns = { list: [], open: false };
export const unknownColumns: Columns = { list: [], open: true };

/** PostgreSQL's limit for the columns of a query. */
const maxColumns = 1_664;

export function requireColumnCount(count: number): void {
  if (count > maxColumns) throw new Refusal(`A statement can have at most ${maxColumns} columns in FROM or in SELECT.`);
}

export function concatColumns(left: Columns, right: Columns): Columns {
  if (left.open) return left;
  requireColumnCount(left.list.length + right.list.length);
  return { list: [...left.list, ...right.list], open: right.open };
}

/** Columns that a star stands for. */
export const visibleColumns = ({ list, open }: Columns): Columns => ({ list: list.filter(({ hidden }) => hidden !== true), open });

/** Applies `AS name(a, b)`: the first columns get these names. */
export function renameColumns({ list, open }: Columns, names: readonly string[], relation: string): Columns {
  if (names.length > list.length && !open)
    throw new Refusal(`"${relation}" has ${list.length} columns, but ${names.length} names for them.`);
  const renamed = names.map((name, index) => ({ ...(list[index] ?? { size: 0 }), name }));
  return { list: [...renamed, ...list.slice(names.length)], open };
}

/** Longer lists are indexed by name. */
const maxSearched = 20;
const byName = new WeakMap<readonly Column[], ReadonlyMap<string, Column>>();

/** The first column of this name. */
export function findIn({ list }: Columns, name: string): Column | undefined {
  if (list.length <= maxSearched) return list.find((column) => column.name === name);
  let names = byName.get(list);
  if (names === undefined) {
    names = new Map(list.map((column) => [column.name, column] as const).reverse());
    byName.set(list, names);
  }
  return names.get(name);
}

export function findRelation(namespace: Namespace | undefined, name: string): Relation | undefined {
  for (let level = namespace; level !== undefined; level = level.parent) {
    const relation = level.relations.find((candidate) => candidate.name === name);
    if (relation) return relation;
  }
  return undefined;
}

/** A column of the innermost query level that has one of this name. PostgreSQL prefers columns to relations. */
export function findColumn(namespace: Namespace | undefined, name: string): Column | undefined {
  for (let level = namespace; level !== undefined; level = level.parent) {
    for (const { columns } of level.relations) {
      const column = findIn(columns, name);
      if (column) return column;
    }
  }
  return undefined;
}

/** A column of a relation. Refuses any other name, which PostgreSQL would read as a function or a type applied to the row. */
export function requireQualified(namespace: Namespace | undefined, relationName: string, name: string): Column {
  const relation = findRelation(namespace, relationName);
  if (relation === undefined) throw new Refusal(`There is no table "${relationName}" here. ${describe(namespace, relationName)}`);
  const column = findIn(relation.columns, name);
  if (column !== undefined) return column;
  const hint = relation.columns.open ? ` Write the columns of "${relationName}" after its name: ${relationName}(${name}).` : '';
  throw new Refusal(
    `There is no column "${name}" in "${relationName}".${hint} ${describe({ relations: [relation], parent: undefined }, name)}`,
  );
}

/** A column, or a whole row where the name is that of a relation. */
export function requireColumn(namespace: Namespace | undefined, name: string): Column {
  const column = findColumn(namespace, name);
  if (column !== undefined) return column;
  const relation = findRelation(namespace, name);
  if (relation === undefined) throw new Refusal(`There is no column "${name}" here. ${describe(namespace, name)}`);
  return { name, size: rowSize(relation.columns) };
}

export const rowSize = ({ list }: Columns): number => list.reduce((sum, { size }) => sum + size, 0);

const maxListed = 100;

/** Lists the names that exist, and the nearest of them. */
function describe(namespace: Namespace | undefined, missing: string): string {
  const relations: Relation[] = [];
  for (let level = namespace; level !== undefined; level = level.parent) relations.push(...level.relations);
  if (relations.length === 0) return 'This query has no FROM clause.';
  const columns = relations.flatMap(({ columns: { list } }) => list.map(({ name }) => name));
  const withColumns = relations.map(({ name, columns: { list } }) => `${name ?? ''}(${list.map((column) => column.name).join(', ')})`);
  const listed = columns.length > maxListed ? relations.map(({ name }) => name).filter((name) => name !== undefined) : withColumns;
  const near = nearest(missing, [...columns, ...relations.flatMap(({ name }) => name ?? [])]);
  return `There are: ${listed.slice(0, maxListed).join('; ')}.${near === undefined ? '' : ` Did you mean "${near}"?`}`;
}

function nearest(missing: string, names: readonly string[]): string | undefined {
  const maxDistance = Math.min(3, Math.ceil(missing.length / 4));
  const close = names.slice(0, 500).map((name) => ({ name, distance: editDistance(missing, name) }));
  const best = close.reduce<(typeof close)[number] | undefined>(
    (one, other) => (one && one.distance <= other.distance ? one : other),
    undefined,
  );
  return best && best.distance <= maxDistance ? best.name : undefined;
}
