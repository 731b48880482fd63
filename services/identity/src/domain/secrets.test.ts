import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isSameText, makeRandomText } from './secrets.ts';

test('texts are the same only if they are equal', () => {
  for (const other of ['abd', 'ab', 'abcd', '']) expect(isSameText('abc', other)).toBe(false);
  fc.assert(
    fc.property(fc.string({ maxLength: 3 }), fc.string({ maxLength: 3 }), (a, b) => {
      expect(isSameText(a, a)).toBe(true);
      expect(isSameText(a, b)).toBe(a === b);
      expect(isSameText(a, `${a}${b}`)).toBe(b === '');
    }),
  );
});

test('bytes that would make some letters more likely are skipped', () => {
  const batches = [
    [248, 0, 255],
    [61, 62, 1],
  ];
  expect(makeRandomText(3, () => Uint8Array.from(batches.shift() ?? [1, 1, 1]))).toBe('0z0');
});
