import { expect, test } from '@jest/globals';
import { dayLabel, fillDays, maxDays, rangeFault, type UsagePage, usageSpec } from '../web/src/pages/credits/usage-groups.ts';

const now = Date.parse('2026-03-02T10:00:00Z');
const group = (date: string) => ({ date, total_credits: 5, query_count: 1, breakdown_by_model: { Fast: 5 } });
const pageOf = (from: string, to: string, ...dates: string[]): UsagePage => ({
  data: dates.map(group),
  meta: { next_cursor: null, total: dates.length, total_credits: 5, total_queries: 1, date_range: { from, to } },
});
const daysOf = (page: UsagePage) => fillDays(page, 4, now).map(({ date, total_credits: credits }) => `${date} ${credits}`);

test('a chart of usage shows the last days of a range, with those that had no usage', () => {
  const page = pageOf('2026-02-26', '2026-03-02', '2026-02-26', '2026-03-01');
  expect(daysOf(page)).toEqual(['2026-02-27 0', '2026-02-28 0', '2026-03-01 5', '2026-03-02 0']);
});

test('a range of any years ends today, so that its usage is in sight', () => {
  const page = pageOf('0001-01-01', '9999-12-31', '2026-03-01');
  expect(daysOf(page)).toEqual(['2026-02-27 0', '2026-02-28 0', '2026-03-01 5', '2026-03-02 0']);
});

test('usage of a day after today by a late clock is shown', () => {
  expect(daysOf(pageOf('2026-03-01', '2026-03-31', '2026-03-03')).at(-1)).toBe('2026-03-03 5');
});

test('agents of the same name have a bar each', () => {
  const breakdown = { Fast: 1 };
  const { data } = usageSpec(
    [
      { label: 'Sales', breakdown },
      { label: 'Sales (2)', breakdown },
      { label: 'Sales', breakdown: { Fast: 1, Smart: 2 } },
    ],
    false,
  ) as { data: { values: { label: string }[] } };
  expect(data.values.map(({ label }) => label)).toEqual(['Sales', 'Sales (2)', 'Sales (3)', 'Sales (3)']);
});

test('the same day of two years has two labels', () => {
  expect(dayLabel('2026-03-01', now)).not.toContain('26');
  expect(dayLabel('2025-03-01', now)).toContain('2025');
});

test('a range that the API would refuse is known before it is asked for', () => {
  const faultOf = (from: string | undefined, to?: string) => rangeFault({ ...(from && { from }), ...(to && { to }) }, maxDays, now);
  for (const [from, to] of [['2025-03-02', '2026-03-02'], ['2025-03-02'], ['2026-03-02', '2026-03-02'], [undefined, '2026-03-02'], []])
    expect([from, to, faultOf(from, to)]).toEqual([from, to, undefined]);
  expect(faultOf('2025-03-01', '2026-03-02')).toBe('Choose at most 366 days: these are 367.');
  expect(faultOf('2025-03-01')).toBe('Choose at most 366 days: these are 367.');
  expect(faultOf('2026-03-03', '2026-03-02')).toBe('The first day is after the last one.');
  expect(faultOf('2026-03-03')).toBe('The first day is after today.');
  expect(rangeFault({ from: '1970-01-01', to: '2026-03-02' })).toBeUndefined();
});
