import { ServiceError } from '@agent-service/contracts';

interface DriverFailure {
  code?: string;
  constraint?: string;
  message?: string;
}

/** Connection failures, shutdown, too many connections, time-outs of statement and lock, failed serialization. */
const passing = /^(08...|53...|57P0.|57014|55P03|40001|40P01|25P03|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH)$/;
const passingMessage =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Query read timeout/;

function failureOf(cause: unknown): DriverFailure {
  return typeof cause === 'object' && cause !== null ? (cause as DriverFailure) : {};
}

/** A database that is away or overloaded is an `unavailable` for the caller; everything else stays what it is. */
export function translateFailure(cause: unknown): unknown {
  if (cause instanceof ServiceError) return cause;
  const { code, message } = failureOf(cause);
  const temporary = passing.test(code ?? '') || passingMessage.test(message ?? '');
  return temporary ? new ServiceError('unavailable', { cause }) : cause;
}

/** Whether the statement failed because of this constraint. */
export function isViolation(cause: unknown, constraint: string): boolean {
  return failureOf(cause).constraint === constraint;
}
