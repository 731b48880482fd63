import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { contentTypeOf, createToday, outputOf, toTokenCount } from './ask-model.ts';

test('every count of tokens is a whole number that fits', () => {
  fc.assert(
    fc.property(fc.double(), (tokens) => {
      const count = toTokenCount(tokens);
      expect(Number.isInteger(count) && count >= 0 && count < 2 ** 31).toBe(true);
    }),
  );
  expect([toTokenCount(17), toTokenCount(0.2)]).toEqual([17, 1]);
});

test('the output is what the agent prefers, with charts where the format has them, and markdown without charts by default', () => {
  for (const format of ['markdown', 'table'])
    for (const charts of [true, false]) expect(outputOf({ defaultFormat: format, chartEnabled: charts })).toEqual({ format, charts });
  for (const format of ['text', 'json'])
    for (const chartEnabled of [true, false]) expect(outputOf({ defaultFormat: format, chartEnabled })).toEqual({ format, charts: false });
  expect(outputOf({ defaultFormat: '', chartEnabled: false })).toEqual({ format: 'markdown', charts: false });
  expect(outputOf(null)).toEqual({ format: 'markdown', charts: false });
});

test('clients render every format but plain text', () => {
  const typeOf = (defaultFormat: string) => contentTypeOf(outputOf({ defaultFormat, chartEnabled: true }));
  expect(['markdown', 'table', 'json', '', 'text'].map(typeOf)).toEqual(['markdown', 'markdown', 'markdown', 'markdown', 'text']);
});

test('today is the date in the time zone of the data', () => {
  const lateOnSunday = () => Date.UTC(2026, 10, 22, 23, 30);
  expect(createToday(lateOnSunday, 'UTC')()).toBe('Today is Sunday, 2026-11-22, in the time zone UTC.');
  expect(createToday(lateOnSunday, 'Asia/Tokyo')()).toBe('Today is Monday, 2026-11-23, in the time zone Asia/Tokyo.');
});
