import { ConfigurationError } from '@agent-service/runtime/config';

/** A fault of this machine or its settings; the message says how to correct it. */
export class LocalError extends Error {
  override name = 'LocalError';
}

/** The text that a command prints before it ends: the message of a fault that the operator can correct, the stack of any other. */
export function failureText(cause: unknown): string {
  if (cause instanceof LocalError || ConfigurationError.is(cause)) return cause.message;
  return (cause instanceof Error && cause.stack) || String(cause);
}

/** The message of a thrown value. */
export function reasonOf(cause: unknown): string {
  if (!Error.isError(cause)) return String(cause);
  // A host with several addresses fails with one error for each, and without a message of its own.
  const [first] = (cause as { errors?: unknown[] }).errors ?? [];
  return first === undefined ? cause.message : reasonOf(first);
}
