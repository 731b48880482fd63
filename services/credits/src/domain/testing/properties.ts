import fc from 'fast-check';

const DEFAULT_SEED = 20_260_115;

/** Checks a property with a fixed seed, or with FC_SEED. A failure prints the seed and the smallest failing example. */
export function checkProperty<T>(property: fc.IProperty<T>, runs = 300): void {
  fc.assert(property, { seed: seedFrom(process.env.FC_SEED), numRuns: runs });
}

function seedFrom(text: string | undefined): number {
  if (text === undefined || text === '') return DEFAULT_SEED;
  const seed = Number(text);
  if (!Number.isSafeInteger(seed)) throw new Error(`FC_SEED must be an integer, not "${text}"`);
  return seed;
}
