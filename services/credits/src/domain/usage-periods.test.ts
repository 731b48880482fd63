import { expect, test } from '@jest/globals';
import { usageByPeriod } from './usage-periods.ts';

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
