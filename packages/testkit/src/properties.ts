import fc from 'fast-check';

/** Checks a property with 300 examples; a failure prints the seed and the smallest example that fails. */
export function checkProperty<T>(property: fc.IProperty<T>, runs = 300): void {
  fc.assert(property, { numRuns: runs });
}

/** The same for a property that waits. */
export async function checkPropertyAsync<T>(property: fc.IAsyncProperty<T>, runs = 300): Promise<void> {
  await fc.assert(property, { numRuns: runs });
}

const firstSurrogate = 0xd800;
const surrogates = 0x800;

/**
 * Every character but a lone surrogate, as `unit` of `fc.string`. fast-check's own `unit: 'binary'` means the same, but builds a table
 * of all characters in each test file: a second of processor and 80 MB.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: 0x10ffff - surrogates })
  .map((index) => String.fromCodePoint(index < firstSurrogate ? index : index + surrogates), indexOf);

function indexOf(text: unknown): number {
  const [character = '', ...more] = typeof text === 'string' ? text : '';
  if (character === '' || more.length > 0 || !character.isWellFormed()) throw new Error('not one character');
  const codePoint = character.codePointAt(0) as number;
  return codePoint < firstSurrogate ? codePoint : codePoint - surrogates;
}
