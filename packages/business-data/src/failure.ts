export type FailureKind =
  /** The statement or change is not allowed, or cannot be understood. */
  | 'refused'
  /** The database did not accept it. */
  | 'failed'
  /** It ran into its time limit. */
  | 'timeout'
  /** The database is away, or refuses the connection. */
  | 'unavailable'
  /** The caller left. */
  | 'cancelled'
  /** The connection was lost during the commit of a change, which may have been made. */
  | 'unknown';

/** Why there is no result. The message may be shown to the model: it names nothing outside of the scope and quotes no stored value. */
export class DataFailure extends Error {
  override name = 'DataFailure';
  readonly kind: FailureKind;
  /** PostgreSQL's own code, where it was PostgreSQL that said no. */
  readonly sqlState: string | undefined;

  constructor(kind: FailureKind, message: string, cause?: unknown, sqlState?: string) {
    super(message, { cause });
    this.kind = kind;
    this.sqlState = sqlState;
  }
}

/** The database is there, and does not let this login in. */
export class NotAdmitted extends DataFailure {
  constructor({ kind, message, cause, sqlState }: DataFailure) {
    super(kind, message, cause, sqlState);
  }
}

export const cancelled = (cause: unknown): DataFailure => new DataFailure('cancelled', 'The query was cancelled.', cause);

/** The reason why a statement does not run. The model reads the message, which names nothing outside the scope. */
export class Refusal extends Error {
  override name = 'Refusal';
}
