import { describe, expect, test } from '@jest/globals';
import { recordRange } from './ranges.ts';
import { splitRange } from './usage-range.ts';

const split = (dateFrom?: string, dateTo?: string) => {
  const range = recordRange({ dateFrom, dateTo });
  if (!range.ok) throw new Error(range.message);
  const { days, edges } = splitRange(range);
  return { days, edges: edges.map(({ from, until }) => [new Date(from).toISOString(), new Date(until).toISOString()]) };
};

describe('a range is split into whole days and what is left', () => {
  test('dates leave nothing', () => {
    expect(split('2026-01-05', '2026-01-06')).toEqual({ days: { from: '2026-01-05', to: '2026-01-06' }, edges: [] });
    expect(split(undefined, '2026-01-06')).toEqual({ days: { from: null, to: '2026-01-06' }, edges: [] });
    expect(split()).toEqual({ days: { from: null, to: null }, edges: [] });
  });

  test('times leave their parts of a day; the millisecond of date_to is included', () => {
    expect(split('2026-01-05T10:00:00Z', '2026-01-08T11:00:00Z')).toEqual({
      days: { from: '2026-01-06', to: '2026-01-07' },
      edges: [
        ['2026-01-05T10:00:00.000Z', '2026-01-06T00:00:00.000Z'],
        ['2026-01-08T00:00:00.000Z', '2026-01-08T11:00:00.001Z'],
      ],
    });
    expect(split('2026-01-05T00:00:00Z').edges).toEqual([]);
  });

  test('a range without a whole day is all edge', () => {
    expect(split('2026-01-05T10:00:00Z', '2026-01-06T11:00:00Z')).toEqual({
      edges: [['2026-01-05T10:00:00.000Z', '2026-01-06T11:00:00.001Z']],
    });
  });
});
