import type { Operation, Unit } from '../schema/concepts.ts';
import type { Condition, Expression } from '../schema/expression.ts';
import type { ColumnKind, Table } from '../schema/schema.ts';
import type { Period, TimeGroup } from '../words/grains.ts';

export interface Comparison {
  readonly operator: '>' | '>=' | '<' | '<=' | '=';
  readonly number: number;
  /** The upper end of a range, inclusive. */
  readonly to?: number;
}

export interface Day {
  readonly table: string;
  readonly column: string;
}

export interface Span extends Day {
  readonly period: Period;
  /** The column of the last day, for rows that last several days; a span matches them when it overlaps. */
  readonly until?: string;
}

/** A criterion by which rows are grouped: periods, or the values of a column that the base refers to. */
export type Dimension =
  | { readonly kind: 'time'; readonly grain: TimeGroup }
  | {
      readonly kind: 'column';
      readonly table: string;
      readonly column: string;
      readonly type: ColumnKind;
      /** The second part of a person's name, whose first part is the column. */
      readonly lastName?: string;
    };

export type ColumnDimension = Extract<Dimension, { kind: 'column' }>;

/** The number that is computed of each row, or of all rows where it is a ratio. */
export interface Quantity {
  readonly label: string;
  /** A term of business, which is clear without the name of the table. */
  readonly isTerm: boolean;
  readonly unit?: Unit | undefined;
  readonly value: Expression;
  /** Divides the sum of the values: the quantity is a ratio in percent. */
  readonly per?: Expression | undefined;
  /** The column, where it is a single one. */
  readonly column?: string | undefined;
}

/** A question as data. */
export interface Intent {
  readonly shape: 'figure' | 'list';
  readonly base: Table;
  readonly operation: Operation;
  readonly quantity: Quantity | undefined;
  /** The table whose rows are counted once each, by the rows that refer to them. */
  readonly distinct: Day | undefined;
  readonly dimensions: readonly Dimension[];
  readonly conditions: readonly Condition[];
  readonly span: Span | undefined;
  /** The day by which rows are grouped into weeks, months and years. */
  readonly day: Day | undefined;
  /** A second span of time to compare with the first. */
  readonly versus: Period | undefined;
  /** The share of each group in all, in percent. */
  readonly share: boolean;
  /** The share of the rows, or of the quantity, that fits these conditions, in percent. */
  readonly rate: readonly Condition[] | undefined;
  /** A condition on the number of each group. */
  readonly having: (Comparison | Expression) | undefined;
  /** One number from the groups: how many there are, or their average. */
  readonly ofGroups: 'count' | 'avg' | undefined;
  readonly order: 'most' | 'least' | 'time';
  readonly orderBy: { readonly column: Expression; readonly label: string; readonly descending: boolean } | undefined;
  readonly limit: number;
  /** True when the question names the limit. */
  readonly limited: boolean;
  /** Readings that the question left open and the answer took for granted. */
  readonly assumed: readonly string[];
}
