import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { withComing } from '../src/words/calendar.ts';
import { type Period, periodSql } from '../src/words/grains.ts';
import { lastToTheSameDay, periodsOf } from '../src/words/periods.ts';
import { wordsOf } from '../src/words/words.ts';

let database: TestDatabase;
let client: Client;
beforeAll(async () => {
  database = await testDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});

/** First and last day of a span as PostgreSQL computes them for a day. */
async function daysOf({ from, to }: Period, today: string): Promise<string> {
  const on = (sql: string | undefined) => (sql ?? 'null::date').replaceAll('current_date', `date '${today}'`);
  const { rows } = await client.query({ text: `select (${on(from)})::date::text, ((${on(to)})::date - 1)::text`, rowMode: 'array' });
  return `${rows[0]?.[0] ?? ''}..${rows[0]?.[1] ?? ''}`;
}

const ordinary = '2026-08-19';
const firstOfMonth = '2026-03-01';
const firstWeek = '2027-01-02';
const leapDay = '2028-02-29';

test.each([
  ['today', ordinary, '2026-08-19..2026-08-19'],
  ['yesterday', firstOfMonth, '2026-02-28..2026-02-28'],
  ['tomorrow', '2026-12-31', '2027-01-01..2027-01-01'],
  ['this month', firstOfMonth, '2026-03-01..2026-03-31'],
  ['last month', firstOfMonth, '2026-02-01..2026-02-28'],
  ['last month', firstWeek, '2026-12-01..2026-12-31'],
  ['next month', '2026-01-31', '2026-02-01..2026-02-28'],
  ['this week', firstWeek, '2026-12-28..2027-01-03'],
  ['last week', firstWeek, '2026-12-21..2026-12-27'],
  ['next week', ordinary, '2026-08-24..2026-08-30'],
  ['this quarter', firstOfMonth, '2026-01-01..2026-03-31'],
  ['last quarter', firstOfMonth, '2025-10-01..2025-12-31'],
  ['this year', firstWeek, '2027-01-01..2027-12-31'],
  ['last year', leapDay, '2027-01-01..2027-12-31'],
  ['ytd', ordinary, '2026-01-01..2026-08-19'],
  ['year to date', ordinary, '2026-01-01..2026-08-19'],
  ['so far this month', ordinary, '2026-08-01..2026-08-19'],
  ['this quarter so far', firstOfMonth, '2026-01-01..2026-03-01'],
  ['last 30 days', firstOfMonth, '2026-01-31..2026-03-01'],
  ['last 7 days', firstWeek, '2026-12-27..2027-01-02'],
  ['past six months', ordinary, '2026-02-20..2026-08-19'],
  ['next 2 weeks', ordinary, '2026-08-20..2026-09-02'],
  ['in march', firstOfMonth, '2026-03-01..2026-03-31'],
  ['in march', '2026-02-28', '2025-03-01..2025-03-31'],
  ['in december', firstWeek, '2026-12-01..2026-12-31'],
  ['in february 2028', ordinary, '2028-02-01..2028-02-29'],
  ['in march last year', firstWeek, '2026-03-01..2026-03-31'],
  ['in q1', firstOfMonth, '2026-01-01..2026-03-31'],
  ['in q4', firstOfMonth, '2025-10-01..2025-12-31'],
  ['q2 2025', ordinary, '2025-04-01..2025-06-30'],
  ['in 2025', ordinary, '2025-01-01..2025-12-31'],
  ['since last month', firstOfMonth, '2026-02-01..'],
  ['since 2026-02-03', ordinary, '2026-02-03..'],
  ['after 2026-02-03', ordinary, '2026-02-04..'],
  ['before 2026-02-03', ordinary, '..2026-02-02'],
  ['on 2026-02-03', ordinary, '2026-02-03..2026-02-03'],
  ['before 2020', ordinary, '..2019-12-31'],
  ['after 2020', ordinary, '2021-01-01..'],
  ['since 2024', ordinary, '2024-01-01..'],
  ['before last month', firstOfMonth, '..2026-01-31'],
  ['after March 2026', ordinary, '2026-04-01..'],
  ['between 2020 and 2022', ordinary, '2020-01-01..2022-12-31'],
  ['from 2020 to 2022', ordinary, '2020-01-01..2022-12-31'],
  ['between 2026-02-03 and 2026-03-01', ordinary, '2026-02-03..2026-03-01'],
  ['in the first half of 2025', ordinary, '2025-01-01..2025-06-30'],
  ['in the 2nd half of last year', firstWeek, '2026-07-01..2026-12-31'],
  ['in the first half of the year', firstWeek, '2027-01-01..2027-06-30'],
  ['in h2', firstOfMonth, '2025-07-01..2025-12-31'],
  ['in the third quarter of 2025', ordinary, '2025-07-01..2025-09-30'],
  ['in march of last year', firstWeek, '2026-03-01..2026-03-31'],
  ['two weeks ago', ordinary, '2026-08-03..2026-08-09'],
  ['a month ago', firstOfMonth, '2026-02-01..2026-02-28'],
  ['3 days ago', firstOfMonth, '2026-02-26..2026-02-26'],
  ['since two weeks ago', ordinary, '2026-08-05..'],
  ['before a year ago', leapDay, '..2027-02-27'],
  ['last wednesday', ordinary, '2026-08-12..2026-08-12'],
  ['last tuesday', ordinary, '2026-08-18..2026-08-18'],
  ['next wednesday', ordinary, '2026-08-26..2026-08-26'],
  ['next sunday', ordinary, '2026-08-23..2026-08-23'],
  ['this monday', ordinary, '2026-08-17..2026-08-17'],
  ['since last monday', ordinary, '2026-08-17..'],
  ['since monday', '2026-08-17', '2026-08-10..'],
  ['on 3 march', ordinary, '2026-03-03..2026-03-03'],
  ['on march 3', '2026-03-02', '2025-03-03..2025-03-03'],
  ['on the 3rd of march', '2026-03-03', '2026-03-03..2026-03-03'],
  ['march the 3rd', leapDay, '2027-03-03..2027-03-03'],
  ['31 december 2025', ordinary, '2025-12-31..2025-12-31'],
  ['on 29 february 2028', ordinary, '2028-02-29..2028-02-29'],
  ['since march 3rd last year', ordinary, '2025-03-03..'],
  ['until 3 march', ordinary, '..2026-03-02'],
  ['after 3 march 2026', ordinary, '2026-03-04..'],
  ['from january to march 2025', ordinary, '2025-01-01..2025-03-31'],
  ['between march 2025 and may', ordinary, '2025-03-01..2025-05-31'],
  ['between november and january', '2026-02-10', '2025-11-01..2026-01-31'],
  ['between january and march', '2026-02-10', '2025-01-01..2025-03-31'],
  ['between 3 march and 5 april', ordinary, '2026-03-03..2026-04-05'],
  ['between 3 and 10 march', ordinary, '2026-03-03..2026-03-10'],
  ['from the 3rd to the 10th of march 2025', ordinary, '2025-03-03..2025-03-10'],
  ['from 28 december to 3 january', '2026-02-10', '2025-12-28..2026-01-03'],
])('%s, on %s', async (text, today, days) => {
  const periods = periodsOf(wordsOf(`revenue ${text} by channel`));
  expect(await Promise.all(periods.map((period) => daysOf(period, today)))).toEqual([days]);
});

test.each([
  'since the beginning',
  'may we see',
  'on 2026-02-30',
  'last 5',
  'top 10',
  'before noon',
  'last 99999999 days',
  '2025 units',
  'between 1000 and 2000',
  'total between 1950 and 2050',
  'until 2024',
  'until march',
  'on monday',
  'on 30 february',
  'on 29 february',
  'from 3 march',
  'more than 5 years ago',
  'over 90 days ago',
  'first half of the orders',
  'third half of the orders',
])('%s is no span of time', (text) => {
  expect(periodsOf(wordsOf(text)).filter(({ label }) => label !== 'February' && label !== 'March')).toEqual([]);
});

test.each([
  ['on mondays', 'on Mondays', [1]],
  ['on a sunday', 'on Sundays', [7]],
  ['at weekends', 'on Saturdays and Sundays', [6, 7]],
  ['on weekdays', 'on Mondays, Tuesdays, Wednesdays, Thursdays and Fridays', [1, 2, 3, 4, 5]],
  ['on fridays and tuesdays', 'on Tuesdays and Fridays', [2, 5]],
])('%s are days of each week', async (text, label, days) => {
  const [period] = periodsOf(wordsOf(`revenue ${text} by channel`));
  expect(period).toMatchObject({ label, from: undefined, to: undefined, weekdays: { label, days } });
  const { rows } =
    await client.query(`select count(*)::int as n from generate_series(date '2026-08-03', date '2026-08-09', interval '1 day') d
    where ${periodSql(period as Period, 'd').join(' and ')}`);
  expect(rows).toEqual([{ n: days.length }]);
});

test.each([
  ['due on 3 december', '2026-11-23', '2026-12-03..2026-12-03'],
  ['due in march', '2026-11-23', '2027-03-01..2027-03-31'],
  ['due in january', '2026-11-25', '2027-01-01..2027-01-31'],
  ['due in january', '2026-05-01', '2026-01-01..2026-01-31'],
  ['due in september', '2026-11-25', '2026-09-01..2026-09-30'],
  ['due between november and january', '2026-11-25', '2026-11-01..2027-01-31'],
  ['due between january and june', '2026-11-25', '2026-01-01..2026-06-30'],
  ['due before 3 december', '2026-11-23', '..2026-12-02'],
  ['due in december', firstWeek, '2026-12-01..2026-12-31'],
])('of what is planned ahead, %s on %s may be a day that comes', async (text, today, days) => {
  const [period] = periodsOf(wordsOf(text));
  expect(await daysOf(withComing(period as Period), today)).toBe(days);
});

const leapYear = '2029-02-28';

test.each([
  ['this month with the same month last year', ordinary, '2026-08-01..2026-08-31', '2025-08-01..2025-08-31'],
  ['this month with the same month last year', leapYear, '2029-02-01..2029-02-28', '2028-02-01..2028-02-29'],
  ['this month with the same period last year', leapYear, '2029-02-01..2029-02-28', '2028-02-01..2028-02-28'],
  ['this month with the same period last year', leapDay, '2028-02-01..2028-02-29', '2027-02-01..2027-02-28'],
  ['this month with the same period last month', '2026-03-31', '2026-03-01..2026-03-31', '2026-02-01..2026-02-28'],
  ['last quarter with the same quarter a year ago', ordinary, '2026-04-01..2026-06-30', '2025-04-01..2025-06-30'],
  ['last quarter with the same period last year', ordinary, '2026-04-01..2026-06-30', '2025-04-01..2025-06-30'],
  ['since 2026-08-03 with the same days last month', ordinary, '2026-08-03..2026-08-19', '2026-07-03..2026-07-19'],
  ['this week with the same week last year', firstWeek, '2026-12-28..2027-01-03', '2025-12-29..2026-01-04'],
  ['this week with the same week last year', '2027-08-18', '2027-08-16..2027-08-22', '2026-08-10..2026-08-16'],
  ['today with the same day last week', firstOfMonth, '2026-03-01..2026-03-01', '2026-02-22..2026-02-22'],
  ['in March 2026 with the same month of the year before', ordinary, '2026-03-01..2026-03-31', '2025-03-01..2025-03-31'],
])('%s, on %s', async (text, today, now, before) => {
  const periods = periodsOf(wordsOf(`compare revenue ${text}`));
  expect(await Promise.all(periods.map((period) => daysOf(period, today)))).toEqual([now, before]);
});

test.each([
  ['h1 vs h2 2025', '2025-01-01..2025-06-30', '2025-07-01..2025-12-31'],
  ['march 2025 and april', '2025-03-01..2025-03-31', '2025-04-01..2025-04-30'],
  ['march 2025 and march', '2025-03-01..2025-03-31', '2026-03-01..2026-03-31'],
  ['q1 and march 2025', '2026-01-01..2026-03-31', '2025-03-01..2025-03-31'],
])('the year of one of %s is that of both, if they are parts of one', async (text, ...days) => {
  const periods = periodsOf(wordsOf(`compare revenue ${text}`));
  expect(await Promise.all(periods.map((period) => daysOf(period, ordinary)))).toEqual(days);
});

test('this year beside last year is not last year alone', async () => {
  const [period] = periodsOf(wordsOf('revenue this year - last year'));
  expect(period && (await daysOf(period, ordinary))).toBe('2026-01-01..2026-12-31');
});

test.each(['the same month last year', 'this time last year', 'at the same time a year ago'])('%s alone is no span of time', (text) => {
  expect(periodsOf(wordsOf(`revenue ${text}`))).toEqual([]);
});

test.each([
  [undefined, leapDay, '2028-01-01..2028-02-29', '2027-01-01..2027-02-28'],
  ['this month', firstOfMonth, '2026-03-01..2026-03-01', '2026-02-01..2026-02-01'],
  ['last year', firstWeek, '2027-01-01..2027-01-02', '2026-01-01..2026-01-02'],
  ['this month', '2026-05-30', '2026-05-01..2026-05-30', '2026-04-01..2026-04-30'],
  ['this month', '2026-05-31', '2026-05-01..2026-05-31', '2026-04-01..2026-04-30'],
  ['this month', '2026-03-28', '2026-03-01..2026-03-28', '2026-02-01..2026-02-28'],
  ['this quarter', '2026-05-30', '2026-04-01..2026-05-30', '2026-01-01..2026-02-28'],
  ['this year', '2028-02-28', '2028-01-01..2028-02-28', '2027-01-01..2027-02-28'],
])('growth over %s on %s is against as many days of the span before', async (text, today, now, before) => {
  const spans = lastToTheSameDay(text === undefined ? undefined : periodsOf(wordsOf(text))[0]);
  expect(spans && [await daysOf(spans.now, today), await daysOf(spans.before, today)]).toEqual([now, before]);
});
