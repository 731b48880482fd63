/** Settles as the work does, or rejects with the given error once the limit has passed. */
export async function withTimeout<T>(work: Promise<T>, limitMs: number, failure: () => Error): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(failure()), Math.max(0, limitMs));
  try {
    return await Promise.race([work, expired]);
  } finally {
    clearTimeout(timer);
  }
}
