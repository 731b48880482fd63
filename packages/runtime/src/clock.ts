/** Clocks of computers run fast or slow by less than this. */
const driftPerMs = 500e-6;
/** A process whose own clock is further off is not ready: libraries that read the time of day would be wrong. */
const toleranceMs = 2_000;

export interface ClockSampler {
  /** The followed clock showed `peerMs` at a moment between these two times of this process's monotonic clock. */
  sample(peerMs: number, beganAt: number, endedAt: number): void;
}

/** The time of day that a process works with. */
export interface Clock {
  /**
   * Whole milliseconds since 1970, by the clock that is followed: the database's, or that of a service which follows it. Advances
   * with the monotonic clock, so a step of this computer's own clock does not reach it.
   */
  now(): number;
  /** From now on the process is ready only while its own clock is near the followed one. Returns what takes the samples. */
  follow(): ClockSampler;
  /** True after the first sample; before it, `now` is this computer's own clock. */
  readonly isMeasured: boolean;
  /** How far this computer's own clock is ahead of the followed one, in milliseconds; 0 while that is not known. */
  readonly aheadMs: number;
  /** Throws if this computer's clock is too far from the followed one, or if that is not known yet. */
  check(): void;
}

interface Offset {
  /** Bounds of the difference between the followed clock and the monotonic clock. */
  readonly low: number;
  readonly high: number;
  readonly measuredAt: number;
}

interface ClockSources {
  readonly monotonic?: () => number;
  readonly wall?: () => number;
}

export function createClock({ monotonic = () => performance.now(), wall = Date.now }: ClockSources = {}): Clock {
  let offset: Offset | undefined;
  let isFollowing = false;

  function sample(peerMs: number, beganAt: number, endedAt: number): void {
    const measured = { low: peerMs - endedAt, high: peerMs - beganAt, measuredAt: endedAt };
    offset = (offset && intersection(offset, measured)) ?? measured;
  }

  const followed = ({ low, high }: Offset) => monotonic() + (low + high) / 2;
  const aheadMs = () => (offset ? wall() - followed(offset) : 0);

  return {
    now: () => Math.floor(offset ? followed(offset) : wall()),
    follow() {
      isFollowing = true;
      return { sample };
    },
    get isMeasured() {
      return offset !== undefined;
    },
    get aheadMs() {
      return aheadMs();
    },
    check() {
      if (!isFollowing) return;
      if (!offset) throw new Error('the time has not been measured yet');
      const uncertainMs = (offset.high - offset.low) / 2;
      if (Math.abs(aheadMs()) <= toleranceMs + uncertainMs) return;
      throw new Error(`this computer's clock is ${Math.round(aheadMs())} ms ahead of the clock that the service follows`);
    },
  };
}

/** The clock of this process, which follows one of its database or of a service it calls. */
export const processClock: Clock = createClock();

/** The bounds that both measurements allow; undefined if they contradict each other because one of the clocks was set. */
function intersection(known: Offset, measured: Offset): Offset | undefined {
  const drift = Math.abs(measured.measuredAt - known.measuredAt) * driftPerMs;
  const low = Math.max(known.low - drift, measured.low);
  const high = Math.min(known.high + drift, measured.high);
  return low <= high ? { low, high, measuredAt: measured.measuredAt } : undefined;
}
