interface Permit {
  succeed(): void;
  fail(): void;
  /** Ends a call whose outcome says nothing about the endpoint, such as an aborted one. */
  drop(): void;
}

export interface Breaker {
  /**
   * A permit for one call; undefined while the breaker is open. A call that `continues` a series of attempts from before the breaker
   * opened always gets one, so that many failures at one moment do not take the remaining attempts of their answers.
   */
  enter(options?: { continues: boolean }): Permit | undefined;
  /** The state for callers that wait for this endpoint. */
  state(): BreakerState;
}

interface BreakerState {
  /** Time until the next probe; 0 if a call may enter, or a probe is under way. */
  readonly probeInMs: number;
  /** Resolves when the probe has ended. */
  readonly probed?: Promise<void>;
}

interface BreakerOptions {
  readonly now: () => number;
  /** Failures in a row that open it. */
  readonly failures: number;
  /** Time until one call probes the endpoint. */
  readonly pauseMs: number;
  readonly onChange: (open: boolean) => void;
}

/** Stops calls to an endpoint that fails in a row. While one call probes it, the others get no permit and use a fallback. */
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
    state() {
      if (probe) return { probeInMs: 0, probed: probe.promise };
      return { probeInMs: openUntil === undefined ? 0 : Math.max(0, openUntil - now()) };
    },
  };
}
