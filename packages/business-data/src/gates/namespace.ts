import { Refusal } from '../failure.ts';
import type { ScopedTable } from '../scope/scope.ts';
import type { Tree } from './tree.ts';
import type { Bounds, Collection, RowTotal } from './value-size.ts';

/** A WITH query, as the FROM clauses that can see it do. */
export interface Cte {
  /** The query level of its WITH clause. */
  readonly level: number;
  columns(): Columns;
}

export interface CteScope {
  readonly entries: ReadonlyMap<string, Cte>;
  readonly parent: CteScope | undefined;
}

/** Where a part of a statement stands: what its names can mean. */
export interface Context {
  readonly namespace: Namespace | undefined;
  readonly ctes: CteScope | undefined;
  readonly windows: ReadonlySet<string>;
  readonly level: number;
}

/** A FROM clause, or a part of one: what it makes visible, and what `*` means over it. */
export interface FromPart {
  readonly relations: readonly Relation[];
  readonly star: Columns;
}

/** The parts of the binder, which call each other as the parts of a statement contain each other. */
export interface Binder {
  /** Output columns of a query. `onLeft` hears of those of a UNION's left side before its right side is bound. */
  select(select: Tree, context: Context, onLeft?: (columns: Columns) => void): Columns;
  from(items: readonly unknown[], context: Context): FromPart;
  /** Estimated length of the value in characters. */
  expression(node: unknown, context: Context): number;
  /** Output columns of a subquery that is bound already. */
  columnsOf(select: unknown): Columns | undefined;
  table(schema: string, name: string): ScopedTable | undefined;
  /** The values that its aggregates keep. */
  readonly collection: Collection;
  readonly rows: RowTotal;
  readonly bounds: Bounds;
  /** A row type of the database's own may hide behind an expression, so that its columns are not known. */
  mayBeComposite(): boolean;
  /** Some expression of the statement may be of type tsvector. */
  mayBeTsvector(): boolean;
  /** Some expression of the statement may be of type jsonpath. */
  mayBeJsonpath(): boolean;
}

/** An output column of a relation. */
export interface Column {
  readonly name: string;
  /** Estimated length of a value in characters, as text. */
  readonly size: number;
  /** A column of a table as it is. */
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
  /** Undefined: no name finds it, only its columns. */
  readonly name: string | undefined;
  readonly columns: Columns;
  /** Its columns need the name before them: the alias of JOIN ... USING. */
  readonly qualifiedOnly?: boolean;
}

/** The relations that one query level sees, and the level around it. */
interface Namespace {
  readonly relations: readonly Relation[];
  readonly parent: Namespace | undefined;
}

export const noColumns: Columns = { list: [], open: false };
export const unknownColumns: Columns = { list: [], open: true };

/** PostgreSQL's own limit for what a query returns. */
const mostColumns = 1_664;

export function requireColumnCount(count: number): void {
  if (count > mostColumns) throw new Refusal(`A statement can have at most ${mostColumns} columns in FROM or in SELECT.`);
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
const longestSearched = 20;
const byName = new WeakMap<readonly Column[], ReadonlyMap<string, Column>>();

/** The first column of this name. */
export function findIn({ list }: Columns, name: string): Column | undefined {
  if (list.length <= longestSearched) return list.find((column) => column.name === name);
  let names = byName.get(list);
  if (names === undefined) {
    names = new Map(list.map((column) => [column.name, column] as const).reverse());
    byName.set(list, names);
  }
  return names.get(name);
}

export function findRelation(namespace: Namespace | undefined, name: string): Relation | undefined {
  for (let level = namespace; level !== undefined; level = level.parent) {
    const found = level.relations.find((relation) => relation.name === name);
    if (found) return found;
  }
  return undefined;
}

/** PostgreSQL takes the innermost level that has the column, and only then a relation of that name. */
export function findColumn(namespace: Namespace | undefined, name: string): Column | undefined {
  for (let level = namespace; level !== undefined; level = level.parent) {
    for (const { columns, qualifiedOnly } of level.relations) {
      const found = qualifiedOnly ? undefined : findIn(columns, name);
      if (found) return found;
    }
  }
  return undefined;
}

/** A column of a relation; refuses what PostgreSQL would read as a function or a type applied to the row. */
export function requireQualified(namespace: Namespace | undefined, relation: string, name: string): Column {
  const found = findRelation(namespace, relation);
  if (found === undefined) throw new Refusal(`There is no table "${relation}" here. ${describe(namespace, relation)}`);
  const column = findIn(found.columns, name);
  if (column !== undefined) return column;
  const hint = found.columns.open ? ` Write the columns of "${relation}" behind its name: ${relation}(${name}).` : '';
  throw new Refusal(`There is no column "${name}" in "${relation}".${hint} ${describe({ relations: [found], parent: undefined }, name)}`);
}

/** A column, or a whole row where the name is a relation's. */
export function requireColumn(namespace: Namespace | undefined, name: string): Column {
  const column = findColumn(namespace, name);
  if (column !== undefined) return column;
  const relation = findRelation(namespace, name);
  if (relation === undefined) throw new Refusal(`There is no column "${name}" here. ${describe(namespace, name)}`);
  return { name, size: rowSize(relation.columns) };
}

export const rowSize = ({ list }: Columns): number => list.reduce((sum, { size }) => sum + size, 0);

const mostListed = 100;

/** The names that exist, and the nearest among them. */
function describe(namespace: Namespace | undefined, wanted: string): string {
  const relations: Relation[] = [];
  for (let level = namespace; level !== undefined; level = level.parent) relations.push(...level.relations);
  if (relations.length === 0) return 'This query has no FROM clause.';
  const columns = relations.flatMap(({ columns: { list } }) => list.map(({ name }) => name));
  const named = relations.map(({ name, columns: { list } }) => `${name ?? ''}(${list.map((column) => column.name).join(', ')})`);
  const listed = columns.length > mostListed ? relations.map(({ name }) => name).filter((name) => name !== undefined) : named;
  const near = nearest(wanted, [...columns, ...relations.flatMap(({ name }) => name ?? [])]);
  return `There are: ${listed.slice(0, mostListed).join('; ')}.${near === undefined ? '' : ` Did you mean "${near}"?`}`;
}

function nearest(wanted: string, names: readonly string[]): string | undefined {
  const most = Math.min(3, Math.ceil(wanted.length / 4));
  const close = names.slice(0, 500).map((name) => ({ name, distance: editDistance(wanted.slice(0, 63), name.slice(0, 63)) }));
  const best = close.reduce<(typeof close)[number] | undefined>(
    (one, other) => (one && one.distance <= other.distance ? one : other),
    undefined,
  );
  return best && best.distance <= most ? best.name : undefined;
}

function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const changed = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
