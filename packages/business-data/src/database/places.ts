import { cancelled, DataFailure } from './failure.ts';

export interface Wait {
  /** Without it only the signal ends the wait. */
  readonly waitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A fixed number of places, had in the order in which they were asked for. */
export interface Places {
  /** Resolves to what gives the place back. Rejects when the wait was too long, or the caller leaves. */
  take(wait: Wait): Promise<() => void>;
}

/** Whoever came after so many would wait in vain. */
const mostWaiting = 1_000;

export function createPlaces(count: number): Places {
  let free = count;
  const waiting = new Set<() => void>();

  function taken(): () => void {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const [next] = waiting;
      if (next === undefined) free += 1;
      else waiting.delete(next);
      next?.();
    };
  }

  async function turn({ waitMs, signal }: Wait): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // At once, so that no place is given to somebody who has left.
    const leave = (failure: DataFailure) => {
      waiting.delete(resolve);
      reject(failure);
    };
    const onAbort = () => leave(cancelled(signal?.reason));
    const timer = waitMs === undefined ? undefined : setTimeout(() => leave(busy()), waitMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    waiting.add(resolve);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  return {
    async take(wait) {
      if (wait.signal?.aborted) throw cancelled(wait.signal.reason);
      if (free > 0) free -= 1;
      else if (waiting.size < mostWaiting) await turn(wait);
      else throw busy();
      return taken();
    },
  };
}

const busy = () => new DataFailure('unavailable', 'The data source is busy with other questions. It can be tried again.');
