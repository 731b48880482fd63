/** A bounded number of things at once; the rest waits in the order it came. */
export interface Slots {
  run<T>(work: () => Promise<T>): Promise<T>;
}

export function createSlots(count: number): Slots {
  const waiting: (() => void)[] = [];
  let free = count;

  async function take(): Promise<void> {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
  }

  function giveBack(): void {
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  }

  return {
    async run(work) {
      await take();
      try {
        return await work();
      } finally {
        giveBack();
      }
    },
  };
}
