import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { contentTypeOf, outputOf } from '../jobs/output.ts';
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

test('the form of an answer is the agent’s, with charts where there is a place for them; markdown without any where nothing is said', () => {
  for (const format of ['markdown', 'table'])
    for (const charts of [true, false]) expect(outputOf({ defaultFormat: format, chartEnabled: charts })).toEqual({ format, charts });
  for (const format of ['text', 'json'])
    for (const chartEnabled of [true, false]) expect(outputOf({ defaultFormat: format, chartEnabled })).toEqual({ format, charts: false });
  expect(outputOf({ defaultFormat: '', chartEnabled: false })).toEqual({ format: 'markdown', charts: false });
  expect(outputOf(null)).toEqual({ format: 'markdown', charts: false });
});

test('only plain text is not to be rendered', () => {
  const typeOf = (defaultFormat: string) => contentTypeOf(outputOf({ defaultFormat, chartEnabled: true }));
  expect(['markdown', 'table', 'json', '', 'text'].map(typeOf)).toEqual(['markdown', 'markdown', 'markdown', 'markdown', 'text']);
});
