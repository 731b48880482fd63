interface Permit {
  succeed(): void;
  fail(): void;
  /** The call says nothing about the endpoint, as one that its caller ended. */
  drop(): void;
}

export interface Breaker {
  /**
   * Leave for one call, or undefined while the endpoint is left alone. A call that `continues` what was begun before the
   * breaker opened always gets it: the failures of a moment with many calls must not take from each its further tries.
   */
  enter(options?: { continues: boolean }): Permit | undefined;
  /** For those who would rather wait than go elsewhere. */
  standing(): Standing;
}

interface Standing {
  /** So long it is left alone; 0 when a call may enter, or when one tries it at the moment. */
  readonly probeInMs: number;
  /** Resolves when the call that tries it has ended. */
  readonly probed?: Promise<void>;
}

interface BreakerOptions {
  readonly now: () => number;
  /** So many in a row open it. */
  readonly failures: number;
  /** After so long one call tries the endpoint again. */
  readonly pauseMs: number;
  readonly onChange: (open: boolean) => void;
}

/** Leaves an endpoint alone that only fails. Calls beside the one that tries it again get no leave: they may go elsewhere. */
export function createBreaker({ now, failures, pauseMs, onChange }: BreakerOptions): Breaker {
  let inARow = 0;
  let openUntil: number | undefined;
  let probe: PromiseWithResolvers<void> | undefined;

  function close(): void {
    inARow = 0;
    if (openUntil === undefined) return;
    openUntil = undefined;
    onChange(false);
  }

  function failed(isProbe: boolean): void {
    inARow += 1;
    if (openUntil === undefined && inARow < failures) return;
    if (openUntil !== undefined && !isProbe) return;
    const wasOpen = openUntil !== undefined;
    openUntil = now() + pauseMs;
    if (!wasOpen) onChange(true);
  }

  function permit(isProbe: boolean): Permit {
    const end = (effect: () => void) => () => {
      effect();
      if (!isProbe) return;
      probe?.resolve();
      probe = undefined;
    };
    return { succeed: end(close), fail: end(() => failed(isProbe)), drop: end(() => undefined) };
  }

  return {
    enter({ continues } = { continues: false }) {
      if (openUntil === undefined || continues) return permit(false);
      if (probe || now() < openUntil) return undefined;
      probe = Promise.withResolvers();
      return permit(true);
    },
    standing() {
      if (probe) return { probeInMs: 0, probed: probe.promise };
      return { probeInMs: openUntil === undefined ? 0 : Math.max(0, openUntil - now()) };
    },
  };
}
