/** A window begins with the first request that it counts. */
export const windowMs = 60_000;

export interface Counter {
  readonly count: number;
  readonly endsAtMs: number;
}

export interface Judgement {
  readonly allowed: boolean;
  /** How the counters stand after this request. */
  readonly counters: readonly Counter[];
}

/**
 * One request against several fixed windows: all must have room, or none is touched. A refused request consumes nothing,
 * so that a client that waits as told gets its whole allowance. `counted` says for each whether the request counts there.
 */
export function judge(
  known: readonly (Counter | undefined)[],
  limits: readonly number[],
  nowMs: number,
  counted: readonly boolean[] = [],
): Judgement {
  const current = known.map((counter) => (counter && counter.endsAtMs > nowMs ? counter : { count: 0, endsAtMs: nowMs + windowMs }));
  const allowed = current.every(({ count }, index) => count < (limits[index] ?? 0));
  if (!allowed) return { allowed, counters: current };
  return {
    allowed,
    counters: current.map(({ count, endsAtMs }, index) => ({ count: count + (counted[index] === false ? 0 : 1), endsAtMs })),
  };
}
