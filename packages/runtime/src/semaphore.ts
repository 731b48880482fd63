/** Limits how much runs at once; the rest waits in the order it came. */
export interface Semaphore {
  run<T>(work: () => Promise<T>): Promise<T>;
}

export function createSemaphore(count: number): Semaphore {
  const waiting: (() => void)[] = [];
  let free = count;

  function release(): void {
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  }

  async function hold<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      release();
    }
  }

  return {
    run(work) {
      if (free === 0) return new Promise<void>((resolve) => waiting.push(resolve)).then(() => hold(work));
      free -= 1;
      return hold(work);
    },
  };
}
