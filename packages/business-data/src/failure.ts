export type FailureKind =
  /** The statement or change is not allowed, or cannot be understood. */
  | 'refused'
  /** The database did not accept it, or its result is too large. */
  | 'failed'
  /** It ran into its time limit. */
  | 'timeout'
  /** The database cannot be reached, refuses the connection, does not keep to the protocol, or is busy with other statements. */
  | 'unavailable'
  /** The caller has cancelled it. */
  | 'cancelled'
  /** The connection was lost during the commit of a change, which may have been made. */
  | 'unknown';

/** Why a query or change has no result. The model reads the message, which names nothing outside the scope and quotes no stored value. */
export class DataFailure extends Error {
  override name = 'DataFailure';
  readonly kind: FailureKind;
  /** PostgreSQL's code, for an error that PostgreSQL reported. */
  readonly sqlState: string | undefined;

  constructor(kind: FailureKind, message: string, cause?: unknown, sqlState?: string) {
    super(message, { cause });
    this.kind = kind;
    this.sqlState = sqlState;
  }
}

/** The database can be reached, but refuses this login. */
export class LoginRefused extends DataFailure {
  constructor({ kind, message, cause, sqlState }: DataFailure) {
    super(kind, message, cause, sqlState);
  }
}

export const malformed = (cause: unknown): DataFailure =>
  new DataFailure('unavailable', 'The data source sent something that is not of PostgreSQL’s protocol.', cause);

export const cancelled = (cause: unknown): DataFailure => new DataFailure('cancelled', 'The query was cancelled.', cause);

/** Thrown by the gates: why a statement or change does not run. The model reads the message, which names nothing outside the scope. */
export class Refusal extends Error {
  override name = 'Refusal';
}
