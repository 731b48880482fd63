import { execFileSync } from 'node:child_process';
import { describe, expect, test } from '@jest/globals';
import { dayRange, recordRange, splitRange, usageByPeriod } from './usage.ts';

const now = Date.UTC(2026, 1, 15, 10);
const at = (text: string): number => Date.parse(text);

test('records without bounds are all records', () => {
  expect(recordRange({})).toEqual({ ok: true, from: null, before: null });
});

test('a date as date_to includes that day', () => {
  const range = recordRange({ dateFrom: '2026-01-05', dateTo: '2026-01-05' });
  expect(range).toEqual({ ok: true, from: at('2026-01-05T00:00:00Z'), before: at('2026-01-06T00:00:00Z') });
});

test('a time as date_to includes its millisecond', () => {
  const instant = '2026-01-05T10:00:00.123Z';
  expect(recordRange({ dateFrom: instant, dateTo: instant })).toEqual({ ok: true, from: at(instant), before: at(instant) + 1 });
});

test('times are read in their zone, and in UTC where they name none', () => {
  expect(recordRange({ dateFrom: '2026-01-05T10:00:00+02:00' })).toMatchObject({ from: at('2026-01-05T08:00:00Z') });
  expect(recordRange({ dateFrom: '2026-01-05T10:00' })).toMatchObject({ from: at('2026-01-05T10:00:00Z') });
});

test('a time that names no zone is in UTC also where the process is in another zone', () => {
  const script =
    "import { recordRange } from './usage.ts'; console.log(recordRange({ dateFrom: '2026-01-05T10:00' }).from, new Date(0).getHours());";
  const options = { cwd: import.meta.dirname, env: { ...process.env, TZ: 'Asia/Tokyo' }, encoding: 'utf8' } as const;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], options);
  expect(output.trim()).toBe(`${at('2026-01-05T10:00:00Z')} 9`);
});

test('times may have any number of digits after the second, of which milliseconds count', () => {
  for (const digits of ['7', '777777777', '7777777777', '7'.repeat(100)])
    expect(recordRange({ dateFrom: `2026-01-05T10:00:00.${digits}Z` })).toMatchObject({
      from: at(`2026-01-05T10:00:00.${digits.slice(0, 3)}Z`),
    });
});

test('a text that is not a date is refused with its parameter', () => {
  for (const text of [
    '',
    'yesterday',
    '2026-1-5',
    '2026-02-30',
    '2026-13-01',
    '2026-13-01T10:00',
    '2026-00-10T10:00:00+02:00',
    '2026-02-29T10:00:00Z',
    '2026-01-05T25:00:00Z',
    '1767571200',
    '05.01.2026',
  ]) {
    expect(recordRange({ dateFrom: text })).toMatchObject({ ok: false, param: 'date_from' });
    expect(dayRange({ dateTo: text }, now)).toMatchObject({ ok: false, param: 'date_to' });
  }
});

test('from after to is refused, on one day too', () => {
  expect(recordRange({ dateFrom: '2026-01-06', dateTo: '2026-01-05' })).toMatchObject({ ok: false, param: 'date_from' });
  const sameDay = { dateFrom: '2026-01-05T12:00:00Z', dateTo: '2026-01-05T08:00:00Z' };
  expect(recordRange(sameDay).ok).toBe(false);
  expect(dayRange(sameDay, now).ok).toBe(false);
});

test('groups without bounds are those of the current month', () => {
  expect(dayRange({}, now)).toEqual({ ok: true, from: '2026-02-01', to: '2026-02-28' });
});

test('only date_from means before today', () => {
  expect(dayRange({ dateFrom: '2026-01-20' }, now)).toEqual({ ok: true, from: '2026-01-20', to: '2026-02-15' });
  expect(dayRange({ dateFrom: '2026-02-16' }, now)).toMatchObject({ ok: false, param: 'date_from' });
});

test('only date_to means from the first of its month', () => {
  expect(dayRange({ dateTo: '2025-12-24' }, now)).toEqual({ ok: true, from: '2025-12-01', to: '2025-12-24' });
});

test('the times of groups are cut to their UTC day', () => {
  const range = dayRange({ dateFrom: '2026-01-05T23:30:00-02:00', dateTo: '2026-01-07T00:00:00Z' }, now);
  expect(range).toEqual({ ok: true, from: '2026-01-06', to: '2026-01-07' });
});

test('groups of a single day are allowed', () => {
  const day = '2026-01-05';
  expect(dayRange({ dateFrom: day, dateTo: day }, now)).toEqual({ ok: true, from: day, to: day });
});

test('groups over more than 366 days are refused, records are not', () => {
  expect(dayRange({ dateFrom: '2024-01-01', dateTo: '2024-12-31' }, now)).toMatchObject({ ok: true });
  expect(dayRange({ dateFrom: '2025-01-01', dateTo: '2026-01-02' }, now)).toMatchObject({ ok: false, param: 'date_from' });
  expect(recordRange({ dateFrom: '2020-01-01', dateTo: '2026-01-02' })).toMatchObject({ ok: true });
});

const days = [
  { day: '2026-02-01', tier: 'Fast', credits: 2, queries: 1 },
  { day: '2026-01-05', tier: 'Fast', credits: 3, queries: 2 },
  { day: '2026-01-11', tier: 'Smart', credits: 4, queries: 1 },
  { day: '2026-01-11', tier: 'Fast', credits: 1, queries: 1 },
];

test('days are added up to their periods, earliest first, and empty periods left out', () => {
  expect(usageByPeriod(days, 'week')).toEqual([
    { period: { date: '2026-01-05', week: '2026-W02' }, credits: 8, queries: 4, breakdown: { Fast: 4, Smart: 4 } },
    { period: { date: '2026-01-26', week: '2026-W05' }, credits: 2, queries: 1, breakdown: { Fast: 2 } },
  ]);
  expect(usageByPeriod(days, 'month').map(({ period, credits }) => [period.month, credits])).toEqual([
    ['2026-01', 8],
    ['2026-02', 2],
  ]);
  expect(usageByPeriod(days, 'day').map(({ period }) => period.date)).toEqual(['2026-01-05', '2026-01-11', '2026-02-01']);
});

const split = (dateFrom?: string, dateTo?: string) => {
  const range = recordRange({ dateFrom, dateTo });
  if (!range.ok) throw new Error(range.message);
  const { days, edges } = splitRange(range);
  return { days, edges: edges.map(({ from, before }) => [new Date(from).toISOString(), new Date(before).toISOString()]) };
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

  test('a range without a whole day consists of edges only', () => {
    expect(split('2026-01-05T10:00:00Z', '2026-01-06T11:00:00Z')).toEqual({
      edges: [['2026-01-05T10:00:00.000Z', '2026-01-06T11:00:00.001Z']],
    });
  });
});
