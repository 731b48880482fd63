/** What one statement may take. */
export interface Limits {
  readonly timeoutMs: number;
  readonly maxRows: number;
  readonly maxBytes: number;
  readonly timeZone: string;
  readonly signal?: AbortSignal | undefined;
}

/** As far as lending a connection goes. */
export type Lending = Pick<Limits, 'timeoutMs' | 'signal'>;
