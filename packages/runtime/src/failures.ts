/** A fault of this machine or its settings, which the operator can correct: the message says how. */
export class OperatorFault extends Error {
  override name = 'OperatorFault';
}

/** The text that a program prints before it ends: the message of a fault that the operator can correct, the stack of any other. */
export function failureText(cause: unknown): string {
  if (cause instanceof OperatorFault) return cause.message;
  return (cause instanceof Error && cause.stack) || String(cause);
}

/** The message of a thrown value. */
export function reasonOf(cause: unknown): string {
  if (!Error.isError(cause)) return String(cause);
  // A host with several addresses fails with one error for each, and without a message of its own.
  const [first] = (cause as { errors?: unknown[] }).errors ?? [];
  return first === undefined ? cause.message : reasonOf(first);
}

/** The message of the innermost cause, for operators: that of a `ServiceError` is for callers, and its causes say what happened. */
export function rootReasonOf(cause: unknown): string {
  return Error.isError(cause) && Error.isError(cause.cause) ? rootReasonOf(cause.cause) : reasonOf(cause);
}
