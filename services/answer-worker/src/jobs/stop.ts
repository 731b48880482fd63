/** When this process lets go of a job. */
export interface Stop {
  /** Milliseconds since 1970; infinite while nobody has said so. */
  readonly at: number;
  /** Done at once where it has been said before. */
  whenSaid(work: () => void): void;
  /** The job is done: nothing more is to happen. */
  forget(): void;
}

export function createStop(signal: AbortSignal, now: () => number): Stop {
  let at = Number.POSITIVE_INFINITY;
  let work: (() => void) | undefined;
  const said = () => {
    at = now();
    work?.();
  };
  if (signal.aborted) said();
  else signal.addEventListener('abort', said, { once: true });
  return {
    get at() {
      return at;
    },
    whenSaid(given) {
      work = given;
      if (signal.aborted) given();
    },
    forget: () => signal.removeEventListener('abort', said),
  };
}
