import { checkProperty } from '@agent-service/testkit/properties';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { addDays, billingPeriod, dayOf, daysIn, lastOfMonth, monthLabel, monthOf, periodOf, startOfMonth, weekLabel } from './calendar.ts';

const day = fc.integer({ min: 0, max: 60_000 }).map((n) => addDays('1970-01-01', n));

test('the billing period is the UTC month, its end the first instant of the next', () => {
  const period = { start: Date.UTC(2026, 11, 1), end: Date.UTC(2027, 0, 1) };
  expect(billingPeriod(Date.UTC(2026, 11, 1))).toEqual(period);
  expect(billingPeriod(Date.UTC(2027, 0, 1) - 1)).toEqual(period);
  expect(monthLabel(monthOf(period.start))).toBe('2026-12');
  expect(startOfMonth(monthOf(period.end))).toBe(period.end);
});

test('a week begins on Monday and is named by ISO 8601', () => {
  expect(periodOf('2026-01-05', 'week')).toEqual({ date: '2026-01-05', week: '2026-W02' });
  expect(periodOf('2026-01-11', 'week')).toEqual({ date: '2026-01-05', week: '2026-W02' });
});

test('days around New Year belong to the week of their Thursday', () => {
  const weeks = ['2025-12-29', '2026-01-01', '2027-01-03', '2020-12-31', '2021-01-03', '2024-12-30', '2023-01-01'].map(weekLabel);
  expect(weeks).toEqual(['2026-W01', '2026-W01', '2026-W53', '2020-W53', '2020-W53', '2025-W01', '2022-W52']);
});

test('days and months have their own labels', () => {
  expect(periodOf('2026-01-31', 'day')).toEqual({ date: '2026-01-31' });
  expect(periodOf('2026-01-31', 'month')).toEqual({ date: '2026-01-01', month: '2026-01' });
});

test('the last day of a month handles leap years', () => {
  expect(['2024-02-10', '2026-02-01', '2026-12-31', '2026-04-30'].map(lastOfMonth)).toEqual([
    '2024-02-29',
    '2026-02-28',
    '2026-12-31',
    '2026-04-30',
  ]);
});

test('every week has seven days of one name, and the next day begins another', () => {
  checkProperty(
    fc.property(day, (any) => {
      const { date, week } = periodOf(any, 'week');
      expect(daysIn(date, any)).toBeGreaterThanOrEqual(1);
      expect(daysIn(date, any)).toBeLessThanOrEqual(7);
      expect(weekLabel(addDays(date, 6))).toBe(week);
      expect(weekLabel(addDays(date, 7))).not.toBe(week);
      expect(new Date(date).getUTCDay()).toBe(1);
      expect(dayOf(Date.parse(any))).toBe(any);
    }),
  );
});
