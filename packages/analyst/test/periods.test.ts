import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { lastToTheSameDay, type Period, periodsOf } from '../src/words/periods.ts';
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
])('%s is no span of time', (text) => {
  expect(periodsOf(wordsOf(text))).toEqual([]);
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

test.each(['the same month last year', 'this time last year', 'at the same time a year ago'])('%s alone is no span of time', (text) => {
  expect(periodsOf(wordsOf(`revenue ${text}`))).toEqual([]);
});

test.each([
  [undefined, leapDay, '2028-01-01..2028-02-29', '2027-01-01..2027-02-28'],
  ['this month', firstOfMonth, '2026-03-01..2026-03-01', '2026-02-01..2026-02-01'],
  ['last year', firstWeek, '2027-01-01..2027-01-02', '2026-01-01..2026-01-02'],
])('growth over %s on %s is against as many days of the span before', async (text, today, now, before) => {
  const spans = lastToTheSameDay(text === undefined ? undefined : periodsOf(wordsOf(text))[0]);
  expect(spans && [await daysOf(spans.now, today), await daysOf(spans.before, today)]).toEqual([now, before]);
});
