export type Grain = 'day' | 'week' | 'month' | 'quarter' | 'year';

/** A span of days in SQL: from the first day up to, and not including, the second. */
export interface Period {
  readonly label: string;
  readonly from: string | undefined;
  readonly to: string | undefined;
  /** Two spans of the words made it. */
  readonly joined?: true;
  /** One of these, and all of it. */
  readonly grain?: Grain;
  /** So many of these up to today. */
  readonly rolling?: Grain;
  /** It begins after today. */
  readonly ahead?: boolean;
}
