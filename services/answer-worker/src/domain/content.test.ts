import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { outputOf } from '../jobs/output.ts';
import { countable } from './content.ts';

test('every count of tokens is a whole number that fits', () => {
  fc.assert(
    fc.property(fc.double(), (tokens) => {
      const count = countable(tokens);
      expect(Number.isInteger(count) && count >= 0 && count < 2 ** 31).toBe(true);
    }),
  );
  expect([countable(17), countable(0.2)]).toEqual([17, 1]);
});

test('the form of an answer is the agent’s, and markdown without charts where nothing is said', () => {
  expect(outputOf({ defaultFormat: 'json', chartEnabled: true })).toEqual({ format: 'json', charts: true });
  expect(outputOf({ defaultFormat: '', chartEnabled: false })).toEqual({ format: 'markdown', charts: false });
  expect(outputOf(null)).toEqual({ format: 'markdown', charts: false });
});
