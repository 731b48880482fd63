/** Clocks of computers run fast or slow by less than this. */
const driftPerMs = 500e-6;
/** A process whose own clock is further off is not ready: what reads the time of day itself, as a library does, would be wrong. */
const toleranceMs = 2_000;

export interface ClockSampler {
  /** The followed clock showed `peerMs` at some instant between these two of our monotonic clock. */
  sample(peerMs: number, beganAt: number, endedAt: number): void;
}

/** The time of day that a process works with. */
export interface Clock {
  /**
   * Whole milliseconds since 1970, by the clock that is followed: the database's, or that of a service which follows it. Advances
   * with the monotonic clock, so a step of this computer's own clock does not reach it.
   */
  now(): number;
  /** From now on the process is ready only while its own clock is near the followed one, which samples are taken of. */
  follow(): ClockSampler;
  /** Whether the followed clock has been read; before that, `now` is this computer's own. */
  readonly isMeasured: boolean;
  /** How far this computer's own clock is ahead of the followed one, in milliseconds; 0 while that is not known. */
  readonly aheadMs: number;
  /** Throws where the own clock is too far from the followed one, or where that is not known yet. */
  check(): void;
}

interface Offset {
  /** Bounds of what has to be added to the monotonic clock. */
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

/** What two measurements allow; undefined where they contradict each other because one of the clocks was set. */
function intersection(known: Offset, measured: Offset): Offset | undefined {
  const drift = Math.abs(measured.measuredAt - known.measuredAt) * driftPerMs;
  const low = Math.max(known.low - drift, measured.low);
  const high = Math.min(known.high + drift, measured.high);
  return low <= high ? { low, high, measuredAt: measured.measuredAt } : undefined;
}
