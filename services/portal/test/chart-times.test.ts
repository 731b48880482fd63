import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
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

/** The positions of marks and ticks, and the texts of tooltips and legends. A time zone is that of a process. */
const draw = `
  import { parse, View } from 'vega';
  import { compile } from 'vega-lite';
  import { safeSpec, withLocalTimes } from './web/src/ui/rich/chart-spec.ts';
  const items = (node) => [node, ...(node.items ?? []).flatMap(items)];
  const results = JSON.parse(process.argv[1]).map(async (input) => {
    const { spec, rows } = withLocalTimes(safeSpec(input));
    const chart = compile({ ...spec, data: { values: rows }, width: 400, height: 400 }).spec;
    const view = await new View(parse(chart), { renderer: 'none' }).runAsync();
    const parts = items(view.scenegraph().root).filter(({ items, role }) => role && items.length > 0);
    const of = (role, key) => parts.filter((part) => part.role === role).map((part) => part.items.map((item) => item[key]));
    const [x, width, tooltip] = [of('mark', 'x'), of('mark', 'width'), of('mark', 'tooltip')];
    return { x, width, tooltip, tick: of('axis-tick', 'x'), legend: of('legend-label', 'text') };
  });
  console.log(JSON.stringify(await Promise.all(results)));
`;

const days = ['2026-01-01', '2026-01-02', '2026-01-03', '2026-01-04', '2026-01-05'];
const positions = [0, 100, 200, 300, 400];
const x = { field: 'day', type: 'temporal' };
const onScale = (scale: object) => ({ encoding: { x: { ...x, scale } } });
const ends = { domain: ['2026-01-01', '2026-01-05'], nice: false };
const rule = (datum: object) => ({ mark: 'rule', encoding: { x: datum } });
const sums = [{ op: 'sum', field: 'n', as: 'sum' }];
const listed = [{ field: 'day' }, { field: 'sum', type: 'quantitative' }];
const months = { field: 'day', timeUnit: 'yearmonth', type: 'ordinal', sort: ['2026-02', '2026-01'] };

const charts: [string, object, string, unknown[][]][] = [
  ['on a domain', onScale(ends), 'x', [positions]],
  ['between the ends of a domain', onScale({ domainMin: '2026-01-01', domainMax: '2026-01-05T00:00:00Z', nice: false }), 'x', [positions]],
  ['on a domain with an addition', onScale({ domain: { unionWith: ['2026-01-01'] }, nice: false }), 'x', [positions]],
  [
    'on a domain of the view around',
    { encoding: { x: { type: 'temporal', scale: ends } }, layer: [{ mark: 'point', encoding: { x: { field: 'day' } } }] },
    'x',
    [positions],
  ],
  ['above its ticks', { encoding: { x: { ...x, axis: { values: ['2026-01-02', '2026-01-04'] } } } }, 'tick', [[100, 300]]],
  [
    'beside its legend',
    { encoding: { x, color: { ...x, legend: { type: 'symbol', values: ['2026-01-02'] } } } },
    'legend',
    [['Jan 02, 2026']],
  ],
  [
    'beside a day',
    { layer: [{ mark: 'point', encoding: { x } }, rule({ datum: '2026-01-02', type: 'temporal' })] },
    'x',
    [positions, positions.map(() => 100)],
  ],
  [
    'beside a day that takes its type from the view around',
    { encoding: { x }, layer: [{ mark: 'point' }, rule({ datum: '2026-01-02' })] },
    'x',
    [positions, positions.map(() => 100)],
  ],
  ['to a second end', { mark: 'bar', encoding: { x: { ...x, scale: ends }, x2: { field: 'end' } } }, 'width', [[400, 300, 200, 100, 0]]],
  [
    'in an order of months',
    { data: { values: [{ day: '2026-01-01' }, { day: '2026-02-01' }] }, encoding: { x: months } },
    'x',
    [[300, 100]],
  ],
  ['with a tooltip of names', { encoding: { x, tooltip: { field: 'day', type: 'nominal' } } }, 'tooltip', [days]],
  ['with a tooltip that names no type', { encoding: { x, tooltip: { field: 'day' } } }, 'tooltip', [days]],
  [
    'with the text of a column by which the rows are grouped',
    { transform: [{ aggregate: sums, groupby: ['day'] }], encoding: { x, tooltip: listed } },
    'tooltip',
    [days.map((day, n) => ({ day, sum: String(n) }))],
  ],
];

describe.each(['America/New_York', 'Asia/Tokyo'])('in %s', (timeZone) => {
  let results: Record<string, unknown>[];
  beforeAll(async () => {
    const values = days.map((day, n) => ({ day, n, end: '2026-01-05' }));
    const views = JSON.stringify(charts.map(([, view]) => ({ data: { values }, mark: 'point', ...view })));
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', draw, views], {
      cwd: join(import.meta.dirname, '..'),
      env: { ...process.env, TZ: timeZone },
    });
    results = JSON.parse(stdout) as Record<string, unknown>[];
  });

  test.each(charts.map(([name, , part, expected], index) => [name, index, part, expected] as const))(
    'the days of the data are drawn %s',
    (_, index, part, expected) => {
      expect(results[index]?.[part]).toEqual(expected);
    },
  );
});
