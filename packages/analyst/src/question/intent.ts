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
  /** The column of the last day, for rows that last several days; a span matches them when it overlaps. */
  readonly until?: string;
}

/** Rows of another table that refer to a row of the base, and must not exist. */
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
  /** The day by which rows are grouped into weeks, months and years. */
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
  /** The table whose rows are counted once each, by the rows that refer to them. */
  readonly distinct: Distinct | undefined;
  readonly dimensions: readonly Dimension[];
  /** A second span of time to compare with the first; `change` adds the change between them. */
  readonly versus: Period | undefined;
  readonly change: boolean;
  /** The share of each group, in percent. */
  readonly share: boolean;
  /** The share of all rows that have the named values, in percent. */
  readonly rate: boolean;
  /** A condition on the displayed number. */
  readonly having: Comparison | undefined;
  /** The number of groups instead of the groups. */
  readonly countGroups: boolean;
  readonly order: 'most' | 'least' | 'time';
  readonly limit: number;
  /** True when the question names the limit. */
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
