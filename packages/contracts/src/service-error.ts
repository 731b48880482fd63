import { type ErrorCode, errorCodes } from './error-codes.ts';

export interface FieldError {
  param: string;
  message: string;
}

interface Failure {
  /** The sentence for the caller; without it the code's own. */
  message?: string | undefined;
  /** Path of the offending field, as `data_scope.tables[0]`. */
  param?: string | undefined;
  /** What a program may want to know; goes to the caller. */
  details?: Record<string, unknown> | undefined;
  /** What happened underneath; goes to the log only. */
  cause?: unknown;
}

/** The one error that crosses service boundaries. Whatever else is thrown becomes `internal`. */
export class ServiceError extends Error {
  override name = 'ServiceError';
  readonly code: ErrorCode;
  readonly param: string | null;
  readonly details: Record<string, unknown>;

  constructor(code: ErrorCode, failure: Failure = {}) {
    super(failure.message ?? errorCodes[code].message, { cause: failure.cause });
    this.code = code;
    this.param = failure.param ?? null;
    this.details = failure.details ?? {};
  }

  get definition() {
    return errorCodes[this.code];
  }

  static from(cause: unknown): ServiceError {
    return cause instanceof ServiceError ? cause : new ServiceError('internal', { cause });
  }
}

/** Several faulty fields at once: the first is named, all are listed. */
export function invalidFields(errors: readonly FieldError[]): ServiceError {
  const first = errors[0];
  return new ServiceError('invalid_request', { message: first?.message, param: first?.param, details: { errors } });
}
