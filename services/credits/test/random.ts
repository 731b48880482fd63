/** A small generator of numbers from a seed, so that what a run met can be met again. */
export function randomOf(seed: number): { below(limit: number): number } {
  let state = seed >>> 0;
  return {
    below(limit) {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
    },
  };
}

/** The seed of a run: a new one each time, printed, or the one given again as TEST_SEED. */
export function runSeed(name: string): number {
  const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000_007);
  process.stdout.write(`${name}: TEST_SEED=${seed}\n`);
  return seed;
}
