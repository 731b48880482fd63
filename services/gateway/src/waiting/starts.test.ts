import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { inParts, type StartItem } from './starts.ts';

const sizeOf = ({ message, contextJson }: StartItem) => Buffer.byteLength(message) + Buffer.byteLength(contextJson);

test('however long messages are, every call fits its limit of 8 MB, and none is lost or out of order', () => {
  const items = fc.array(
    fc.tuple(fc.integer({ min: 1, max: 32_000 }), fc.constantFrom('a', '…', '𝄞'), fc.integer({ min: 0, max: 16_384 })),
    { minLength: 1, maxLength: 200, size: 'max' },
  );
  let split = 0;
  fc.assert(
    fc.property(items, (sizes) => {
      const all = sizes.map(
        ([length, character, context]): StartItem => ({ message: character.repeat(length), contextJson: 'c'.repeat(context) }),
      );
      const parts = inParts(all);
      expect(parts.flat()).toEqual(all);
      for (const part of parts) expect(part.reduce((sum, item) => sum + sizeOf(item), 0)).toBeLessThan(7_000_000);
      if (parts.length > 1) split += 1;
    }),
    { numRuns: 50 },
  );
  expect(split).toBeGreaterThan(5);
});
