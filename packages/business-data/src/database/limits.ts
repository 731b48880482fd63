/** What one statement may take. */
export interface Limits {
  readonly timeoutMs: number;
  readonly maxRows: number;
  readonly maxBytes: number;
  readonly timeZone: string;
  readonly signal?: AbortSignal | undefined;
}

/** The limits of a lent connection. */
export interface Lending extends Pick<Limits, 'timeoutMs' | 'signal'> {
  /** The session may be ended when its connection is cut. A change may be committing then, and is left to the database. */
  readonly isReadOnly?: boolean;
}
