import { ServiceError } from '@agent-service/contracts';
import type { FailureKind } from '@agent-service/work';

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

/** Data, constraints, conflicts, raised errors, timeouts of locks and statements: anything else may be the connection or its prepared statements. */
const ownFault = /^(22...|23...|40...|P0001|55P03|57014)$/;

/** Whether the statement failed by its own fault, so that the next one on its connection need not. */
export const leavesConnectionUsable = (cause: unknown): boolean => ownFault.test(failureOf(cause).code ?? '');

const timedOut = new Set(['57014', '55P03']);
const mayPassAgain = new Set(['40P01', '40001']);

/**
 * What a batch's failed statement says about its items. A statement or lock that timed out is one item's or one tenant's fault, and
 * not the database's absence; of transactions that wait for each other one is ended, and may pass the second time.
 */
export function judgeStatement(cause: unknown): FailureKind {
  const code = failureOf(cause instanceof ServiceError ? cause.cause : cause).code ?? '';
  if (timedOut.has(code)) return 'slow';
  if (mayPassAgain.has(code)) return 'retry';
  const isAway = cause instanceof ServiceError && ['unavailable', 'deadline_exceeded', 'cancelled'].includes(cause.code);
  return isAway ? 'all' : 'item';
}

/** Whether the statement failed because of this constraint. */
export function isViolation(cause: unknown, constraint: string): boolean {
  return failureOf(cause).constraint === constraint;
}
