interface Permit {
  succeed(): void;
  fail(): void;
  /** Ends a call whose outcome says nothing about the endpoint, such as an aborted one. */
  drop(): void;
}

export interface Breaker {
  /**
   * A permit for one call of a tenant; undefined while the breaker is open. A call that `continues` a series of attempts from before the breaker
   * opened always gets one, so that many failures at one moment do not take the remaining attempts of their answers.
   */
  enter(tenant: string, options?: { continues: boolean }): Permit | undefined;
  /** The state for the calls of a tenant that wait for this endpoint. */
  state(tenant: string): BreakerState;
}

export interface BreakerState {
  /** Time until the tenant's next probe; 0 if a call may enter, or the tenant has to wait for the outcome of a probe. */
  readonly probeInMs: number;
  /** Resolves when that probe has ended. */
  readonly probed?: Promise<void>;
}

interface BreakerOptions {
  readonly now: () => number;
  /** Failures in a row that open it. */
  readonly failures: number;
  /** Time until calls probe the endpoint. */
  readonly pauseMs: number;
  readonly onChange: (open: boolean) => void;
}

/** Tenants that probe an endpoint at the same time. */
const probesAtOnce = 3;

/**
 * Stops calls to an endpoint that fails in a row. While one call of a tenant probes it, the others of this tenant get no permit and use a
 * fallback. A call that takes as long as the time limit allows may be the fault of its request: other tenants have probes of their own.
 */
export function createBreaker({ now, failures, pauseMs, onChange }: BreakerOptions): Breaker {
  let inARow = 0;
  let openUntil: number | undefined;
  const probes = new Map<string, PromiseWithResolvers<void>>();

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

  function permit(probingTenant?: string): Permit {
    const end = (effect: () => void) => () => {
      effect();
      if (probingTenant === undefined) return;
      probes.get(probingTenant)?.resolve();
      probes.delete(probingTenant);
    };
    return { succeed: end(close), fail: end(() => failed(probingTenant !== undefined)), drop: end(() => undefined) };
  }

  return {
    enter(tenant, { continues } = { continues: false }) {
      if (openUntil === undefined || continues) return permit();
      if (probes.has(tenant) || probes.size >= probesAtOnce || now() < openUntil) return undefined;
      probes.set(tenant, Promise.withResolvers());
      return permit(tenant);
    },
    state(tenant) {
      const own = probes.get(tenant);
      if (own) return { probeInMs: 0, probed: own.promise };
      if (probes.size >= probesAtOnce) return { probeInMs: 0, probed: Promise.race([...probes.values()].map(({ promise }) => promise)) };
      return { probeInMs: openUntil === undefined ? 0 : Math.max(0, openUntil - now()) };
    },
  };
}
