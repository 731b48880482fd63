/** Something about this machine or its settings stands in the way; the message says what, why, and what to do. */
export class LocalError extends Error {
  override name = 'LocalError';
}

/** The words of whatever was thrown. */
export function reasonOf(cause: unknown): string {
  if (!Error.isError(cause)) return String(cause);
  // A host with several addresses fails with one error for each, and no words of its own.
  const [first] = (cause as { errors?: unknown[] }).errors ?? [];
  return first === undefined ? cause.message : reasonOf(first);
}
