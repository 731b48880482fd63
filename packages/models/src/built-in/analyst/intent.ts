import type { DateColumn } from './columns.ts';
import type { Dimension } from './dimensions.ts';
import type { Amount, Condition, Operation } from './measures.ts';
import type { Period } from './periods.ts';
import type { Table } from './schema.ts';
import type { Hit } from './values.ts';

export interface Comparison {
  readonly operator: '>' | '>=' | '<' | '<=';
  readonly number: number;
}

export interface Span {
  readonly table: string;
  readonly column: string;
  readonly period: Period;
  /** Rows that last from a column of one day to that of another are met by a span that they touch. */
  readonly until?: string;
}

interface Common {
  readonly base: Table;
  readonly hits: readonly Hit[];
  readonly conditions: readonly Condition[];
  readonly span: Span | undefined;
  /** The day by which rows are put into weeks, months and years. */
  readonly day: DateColumn | undefined;
  readonly comparison: Comparison | undefined;
}

/** A number, or one for each of something. */
export interface Figure extends Common {
  readonly kind: 'figure';
  readonly operation: Operation;
  readonly amount: Amount | undefined;
  readonly dimensions: readonly Dimension[];
  /** A second span of time to set beside the first. */
  readonly versus: Period | undefined;
  readonly order: 'most' | 'least' | 'time';
  readonly limit: number;
}

/** The rows themselves. */
export interface Listing extends Common {
  readonly kind: 'list';
  readonly orderBy: { readonly column: string; readonly descending: boolean } | undefined;
  readonly limit: number;
}

export type Intent = Figure | Listing;
