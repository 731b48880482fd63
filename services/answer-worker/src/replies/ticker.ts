const tickMs = 20;

/** Runs things a moment later, all that came in between together, with one timer for everybody. */
export interface Ticker {
  /** Adding what waits already changes nothing. */
  add(work: () => void): void;
  remove(work: () => void): void;
}

export function createTicker(): Ticker {
  const waiting = new Set<() => void>();
  let armed = false;

  function tick(): void {
    armed = false;
    const due = [...waiting];
    waiting.clear();
    for (const work of due) work();
  }

  return {
    add(work) {
      waiting.add(work);
      if (armed) return;
      armed = true;
      setTimeout(tick, tickMs);
    },
    remove: (work) => void waiting.delete(work),
  };
}
