import { expect, test } from '@jest/globals';
import { safeSpec, withLocalTimes } from '../web/src/ui/rich/chart-spec.ts';

const asMonths = { encoding: { x: { field: 'day', type: 'temporal', timeUnit: 'yearmonth' } } };

function localTimesOf(spec: object, ...days: unknown[]) {
  const safe = safeSpec({ data: { values: days.map((day) => ({ day, n: 1 })) }, mark: 'bar', ...spec });
  if (!safe) throw new Error('the chart is not drawn');
  return withLocalTimes(safe);
}
const cellsOf = (spec: object, ...days: unknown[]) => localTimesOf(spec, ...days).rows.map(({ day }) => day);

test.each<[unknown, unknown]>([
  ['2026-01', '2026-01-01T00:00'],
  ['2026-01-01', '2026-01-01T00:00'],
  ['2026-01-01 00:00:00+00', '2026-01-01T00:00:00'],
  ['2026-01-01T23:30:00.123456-05:30', '2026-01-01T23:30:00.123456'],
  ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00'],
  ['2026-01-01 08:15', '2026-01-01T08:15'],
  ['January', 'January'],
  ['2026', '2026-01-01T00:00'],
  ['2026-01-01 to 2026-02-01', '2026-01-01 to 2026-02-01'],
  [1_767_225_600_000, 1_767_225_600_000],
  [null, null],
])('a chart over time reads %j as %j, which each viewer has at the same time of day', (day, expected) => {
  expect(cellsOf(asMonths, day)).toEqual([expected]);
});

test.each<[string, object]>([
  ['a type of time', { encoding: { x: { field: 'day', type: 'temporal' } } }],
  ['a unit of time', { encoding: { x: { field: 'day', timeUnit: 'month', type: 'ordinal' } } }],
  ['an encoding of a layer', { layer: [{ mark: 'line', ...asMonths }] }],
  ['a transform', { transform: [{ timeUnit: 'month', field: 'day', as: 'month' }] }],
  ['a filter', { transform: [{ filter: { not: { field: 'day', timeUnit: 'year', equal: 2026 } } }] }],
])('the times of a column are local for %s', (_, spec) => {
  expect(cellsOf(spec, '2026-01-01')).toEqual(['2026-01-01T00:00']);
});

test.each<[string, object]>([
  ['as text', { encoding: { x: { field: 'day', type: 'ordinal' } } }],
  ['in units of UTC', { encoding: { x: { field: 'day', type: 'temporal', timeUnit: 'utcmonth' } } }],
  ['on a scale of UTC', { encoding: { x: { field: 'day', type: 'temporal', scale: { type: 'utc' } } } }],
])('a column of dates that is drawn %s stays as it is', (_, spec) => {
  expect(cellsOf(spec, '2026-01-01')).toEqual(['2026-01-01']);
});

test('a filter compares a column of times with local times', () => {
  const transform = [
    {
      filter: {
        or: [
          { field: 'day', equal: '2026-01-01' },
          { field: 'n', equal: '2026' },
        ],
      },
    },
  ];
  expect(localTimesOf({ ...asMonths, transform }, '2026-01-01').spec['transform']).toEqual([
    {
      filter: {
        or: [
          { field: 'day', equal: '2026-01-01T00:00' },
          { field: 'n', equal: '2026' },
        ],
      },
    },
  ]);
});
