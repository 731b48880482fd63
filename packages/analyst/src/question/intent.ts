import type { DateColumn } from '../schema/columns.ts';
import type { Operation } from '../schema/concepts.ts';
import type { Dimension } from '../schema/dimensions.ts';
import type { Amount, Condition } from '../schema/measures.ts';
import type { Column, ForeignKey, Table } from '../schema/schema.ts';
import type { Hit } from '../schema/values.ts';
import type { Period } from '../words/periods.ts';

export interface Comparison {
  readonly operator: '>' | '>=' | '<' | '<=';
  readonly number: number;
  /** The upper end of a range, inclusive. */
  readonly to?: number;
}

export interface Span {
  readonly table: string;
  readonly column: string;
  readonly period: Period;
  /** Rows that last from a column of one day to that of another are met by a span that they touch. */
  readonly until?: string;
}

/** Rows of another table that lead to a row of the base, and of which there must be none. */
export interface Without {
  readonly table: Table;
  readonly key: ForeignKey;
  readonly span: Span | undefined;
}

interface Common {
  readonly base: Table;
  readonly hits: readonly Hit[];
  readonly conditions: readonly Condition[];
  readonly span: Span | undefined;
  /** The day by which rows are put into weeks, months and years. */
  readonly day: DateColumn | undefined;
  /** A condition on each row: on the measured amount, or else on the column that the words name. */
  readonly comparison: Comparison | undefined;
  readonly compared: Column | undefined;
  readonly without: Without | undefined;
}

export interface Distinct {
  readonly table: string;
  readonly column: string;
}

/** A number, or one for each of something. */
export interface Figure extends Common {
  readonly kind: 'figure';
  readonly operation: Operation;
  readonly amount: Amount | undefined;
  /** The table of those who are counted, each once, by the rows that lead to them. */
  readonly distinct: Distinct | undefined;
  readonly dimensions: readonly Dimension[];
  /** A second span of time to set beside the first, with the change between them where that is asked for. */
  readonly versus: Period | undefined;
  readonly change: boolean;
  /** Each one's part of all of them, in percent. */
  readonly share: boolean;
  /** Which part of all rows has the values that are asked for, in percent. */
  readonly rate: boolean;
  /** A condition on the shown number. */
  readonly having: Comparison | undefined;
  /** How many groups there are, in place of the groups. */
  readonly countGroups: boolean;
  readonly order: 'most' | 'least' | 'time';
  readonly limit: number;
  /** The limit is what was asked for, and not ours. */
  readonly limited: boolean;
}

/** The rows themselves. */
export interface Listing extends Common {
  readonly kind: 'list';
  readonly orderBy: { readonly column: string; readonly descending: boolean } | undefined;
  readonly limit: number;
  readonly limited: boolean;
}

export type Intent = Figure | Listing;
