import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { countable } from './content.ts';
import { instructionsOf } from './instructions.ts';

test('every count of tokens is a whole number that fits', () => {
  fc.assert(
    fc.property(fc.double(), (tokens) => {
      const count = countable(tokens);
      expect(Number.isInteger(count) && count >= 0 && count < 2 ** 31).toBe(true);
    }),
  );
  expect([countable(17), countable(0.2)]).toEqual([17, 1]);
});

test('a format other than markdown is said to the model', () => {
  expect(instructionsOf('Be short.', 'markdown')).toBe('Be short.');
  expect(instructionsOf('Be short.', '')).toBe('Be short.');
  expect(instructionsOf('Be short.', 'plain text')).toBe('Be short.\n\nFormat of the answer: plain text.');
});
