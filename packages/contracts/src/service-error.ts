import { boundError } from './bounded-error.ts';
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
  /** Values for programs; sent to the caller. */
  details?: Record<string, unknown> | undefined;
  /** The underlying error; goes to the log only. */
  cause?: unknown;
}

/**
 * The one error that crosses service boundaries. Every other thrown value becomes `internal`. An error has at most 8 kB
 * on the wire: a larger one would end the connection and every call on it.
 */
export class ServiceError extends Error {
  override name = 'ServiceError';
  readonly code: ErrorCode;
  readonly param: string | null;
  readonly details: Record<string, unknown>;

  constructor(code: ErrorCode, failure: Failure = {}) {
    const { message, param, details } = boundError(failure.message ?? errorCodes[code].message, failure.param, failure.details);
    super(message, { cause: failure.cause });
    this.code = code;
    this.param = param;
    this.details = details;
  }

  get definition() {
    return errorCodes[this.code];
  }

  static from(cause: unknown): ServiceError {
    return cause instanceof ServiceError ? cause : new ServiceError('internal', { cause });
  }
}

/** Several faulty fields at once: the first is named, the first 20 are listed, the rest is counted. */
export function invalidFields(errors: readonly FieldError[]): ServiceError {
  const first = errors[0];
  return new ServiceError('invalid_request', { message: first?.message, param: first?.param, details: { errors } });
}

/** A message that its service always sends, although the wire format could leave it out. */
export function required<Message>(message: Message | null | undefined): Message {
  if (message === null || message === undefined)
    throw new ServiceError('internal', { cause: new Error('a service left out a part of its answer') });
  return message;
}
