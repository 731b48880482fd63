import type { ScopedTable } from '../scope.ts';
import type { Bounds } from '../statement/bounds.ts';
import type { Tree } from '../statement/tree.ts';
import type { Collection, RowTotal } from '../statement/value-size.ts';
import type { Columns, Namespace, Relation } from './namespace.ts';

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
