export interface Permit {
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
}

export interface BreakerOptions {
  readonly now: () => number;
  /** So many in a row open it. */
  readonly failures: number;
  /** After so long one call tries the endpoint again. */
  readonly pauseMs: number;
  readonly onChange: (open: boolean) => void;
}

/** Leaves an endpoint alone that only fails. Others' breakers keep the calls beside the probing one waiting for it; here they go elsewhere at once. */
export function createBreaker({ now, failures, pauseMs, onChange }: BreakerOptions): Breaker {
  let inARow = 0;
  let openUntil: number | undefined;
  let probing = false;

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
      if (isProbe) probing = false;
      effect();
    };
    return { succeed: end(close), fail: end(() => failed(isProbe)), drop: end(() => undefined) };
  }

  return {
    enter({ continues } = { continues: false }) {
      if (openUntil === undefined || continues) return permit(false);
      if (probing || now() < openUntil) return undefined;
      probing = true;
      return permit(true);
    },
  };
}
