import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Demonstration, demonstration, tableOf } from './demonstration.ts';

let company: Demonstration;
beforeAll(async () => {
  company = await demonstration();
});
afterAll(() => company?.stop());

const good = "status <> 'cancelled'";
const tomorrow = 'current_date + 1';
const startOf = (grain: string, back = '0 days') => `date_trunc('${grain}', current_date)::date - interval '${back}'`;
const count = (from: string, to: string) => `(select count(*) from orders where order_date >= ${from} and order_date < ${to})`;
const revenue = (from: string, to: string) =>
  `(select coalesce(sum(total), 0) from orders where ${good} and order_date >= ${from} and order_date < ${to})`;
const beside = (now: string, before: string) => `select ${now}, ${before}`;

/** The span a year before: a whole one, or up to the same day for the current one. */
const monthOfLastYear = [startOf('month', '12 months'), startOf('month', '11 months')] as const;
const toTheSameDay = "current_date - interval '1 year' + interval '1 day'";
const [thisMonth, nextMonth] = [startOf('month'), startOf('month', '-1 months')];
const ordersOfMonth = beside(count(thisMonth, nextMonth), count(...monthOfLastYear));
const lastMonth = beside(
  count(startOf('month', '1 month'), thisMonth),
  count(startOf('month', '13 months'), startOf('month', '12 months')),
);
const revenueOfQuarter = beside(
  revenue(startOf('quarter'), startOf('quarter', '-3 months')),
  revenue(startOf('quarter', '12 months'), startOf('quarter', '9 months')),
);
const revenueSoFar = (grain: string) => beside(revenue(startOf(grain), tomorrow), revenue(startOf(grain, '12 months'), toTheSameDay));

const spansBeside: readonly (readonly [question: string, sql: string])[] = [
  ['Compare orders this month with the same month last year', ordersOfMonth],
  ['How many orders this month compared with this month last year?', ordersOfMonth],
  ['orders this month vs the same month a year ago', ordersOfMonth],
  ['How many orders this month against the same month of the previous year?', ordersOfMonth],
  ['Compare orders last month with the same month last year', lastMonth],
  ['How many orders did we get last month and in the same month last year?', lastMonth],
  ['Compare revenue of this quarter with the same quarter last year', revenueOfQuarter],
  ['revenue this quarter versus the same quarter of last year', revenueOfQuarter],
  ['Did we sell more this quarter than in the same quarter last year?', revenueOfQuarter],
  [
    'Compare revenue in March 2026 with the same month last year',
    beside(revenue("date '2026-03-01'", "date '2026-04-01'"), revenue("date '2025-03-01'", "date '2025-04-01'")),
  ],
  ['revenue this month compared to the same period last year', revenueSoFar('month')],
  ['revenue this quarter compared with this time last year', revenueSoFar('quarter')],
  ['Compare revenue this year with the same days a year ago', revenueSoFar('year')],
  [
    'revenue last month vs the same period last year',
    beside(revenue(startOf('month', '1 month'), thisMonth), revenue(startOf('month', '13 months'), startOf('month', '12 months'))),
  ],
  ['orders today vs the same day last week', beside(count('current_date', tomorrow), count('current_date - 7', 'current_date - 6'))],
  ['revenue this month last year', `select ${revenue(...monthOfLastYear)}`],
];

test.each(spansBeside)('%s', async (question, sql) => {
  const expected = await company.rows(sql);
  const answer = await company.ask(question);
  const width = expected[0]?.length;
  expect({ answer, rows: tableOf(answer).map((row) => row.slice(0, width)) }).toEqual({ answer, rows: expected });
  // The answer names the compared days.
  expect(answer.match(/\(\d{4}-\d\d-\d\d( to \d{4}-\d\d-\d\d)?\)/g)).toHaveLength(expected[0]?.length ?? 0);
});

test('the answer names the days that were compared', async () => {
  const [[days, before]] = (await company.rows(`select
    to_char(${thisMonth}, 'YYYY-MM-DD') || ' to ' || to_char(${nextMonth} - interval '1 day', 'YYYY-MM-DD'),
    to_char(${monthOfLastYear[0]}, 'YYYY-MM-DD') || ' to ' || to_char(${monthOfLastYear[1]} - interval '1 day', 'YYYY-MM-DD')`)) as [
    [string, string],
  ];
  const answer = await company.ask('Compare orders this month with the same month last year');
  expect(answer).toContain(`order date this month (${days}) against the same month a year before (${before}).`);
});

test('the same month continues the span of the previous question', async () => {
  const answer = await company.ask('and the same month last year?', { earlier: ['How many orders did we get last month?'] });
  const [[now, before]] = (await company.rows(lastMonth)) as [[string, string]];
  expect(tableOf(answer).map((row) => row.slice(0, 2))).toEqual([[now, before]]);
});

const invoices = (where: string, order: string, limit = 1) =>
  `select invoice_number from invoices where ${where} order by ${order}, 1 limit ${limit}`;
const unpaid = "status in ('open', 'overdue')";
const customersBy = (having: string, where = 'true') =>
  `select count(*) from (select customer_id from orders where ${where} group by 1 having ${having}) x`;
const byCountry = (more: number) => `select country, count(*) from customers group by 1 having count(*) > ${more} order by 2 desc, 1`;
const byMonth = (value: string, months: number, where = 'true') =>
  `select to_char(order_date, 'YYYY-MM'), ${value} from orders where ${where} and order_date <= current_date
     and order_date >= date_trunc('month', current_date - interval '${months} months' + interval '1 day') group by 1 order by 1`;
const monthsIn = (grain: string) =>
  `select to_char(order_date, 'YYYY-"Q"Q'), count(*) from orders where order_date <= current_date
     and order_date >= date_trunc('${grain}', current_date - interval '12 months' + interval '1 day') group by 1 order by 1`;
const dueNextMonth = `select count(*) from invoices where due_on >= ${nextMonth} and due_on < ${startOf('month', '-2 months')}`;

/** The first column of the rows, or all columns where the statement has several. */
const rows: readonly (readonly [question: string, sql: string])[] = [
  ['oldest unpaid invoice', invoices(unpaid, 'issued_on')],
  ['Which is our oldest unpaid invoice?', invoices(unpaid, 'issued_on')],
  ['newest unpaid invoice', invoices(unpaid, 'issued_on desc')],
  ['earliest open invoice', invoices("status = 'open'", 'issued_on')],
  ['oldest overdue invoice', invoices("status = 'overdue'", 'due_on')],
  ['latest overdue invoice', invoices("status = 'overdue'", 'due_on desc')],
  ['Show the most recent overdue invoice', invoices("status = 'overdue'", 'due_on desc')],
  ['3 oldest overdue invoices', invoices("status = 'overdue'", 'due_on', 3)],
  ['What was the highest order total?', 'select id from orders order by total desc limit 1'],
  ['lowest order total', 'select id from orders order by total limit 1'],
  ['Show the last order', 'select id from orders order by order_date desc, 1 limit 1'],
  ['Show the first 3 orders', 'select id from orders order by order_date, 1 limit 3'],
  ['How many customers bought more than 5 times?', customersBy('count(*) > 5')],
  ['How many customers purchased more than 20 times?', customersBy('count(*) > 20')],
  ['How many customers ordered at least 5 times in 2025?', customersBy('count(*) >= 5', 'extract(year from order_date) = 2025')],
  [
    'Which customers bought more than 15 times?',
    'select c.name, count(*) from orders join customers c on c.id = customer_id group by c.id having count(*) > 15 order by 2 desc, 1 limit 50',
  ],
  ['number of customers per country, only countries with more than 10 customers', byCountry(10)],
  ['How many customers per country, only those with over 12 customers?', byCountry(12)],
  ['customers by country with more than 15 customers', byCountry(15)],
  ['monthly order totals for the last 6 months', byMonth('sum(total)', 6)],
  ['revenue by month for the last 3 months', byMonth('sum(total)', 3, good)],
  ['How many customers do we currently have?', 'select count(*) from customers'],
  ['How many orders are currently pending?', "select count(*) from orders where status = 'pending'"],
  ['current stock', 'select sum(quantity_on_hand) from inventory'],
  ['How many orders from last year on?', `select ${count(startOf('year', '1 year'), "'infinity'")}`],
  [
    'orders per year from March 2025 onwards',
    "select to_char(order_date, 'YYYY'), count(*) from orders where order_date >= '2025-03-01' group by 1 order by 1",
  ],
  ['How many orders from January 2025 through March 2025?', `select ${count("'2025-01-01'", "'2025-04-01'")}`],
  ['How many orders per month in the past 12 months?', byMonth('count(*)', 12)],
  ['how many orders by quarter in the past 12 months', monthsIn('quarter')],
  [
    'Which month had the lowest revenue this year?',
    `select to_char(order_date, 'YYYY-MM'), sum(total) from orders where ${good} and order_date >= ${startOf('year')} group by 1 order by 2 limit 1`,
  ],
  ['How many invoices are due next month?', dueNextMonth],
  ['How many invoices will be due next month?', dueNextMonth],
  [
    'Which purchase orders will arrive next week?',
    `select id from purchase_orders where expected_on >= ${startOf('week', '-7 days')} and expected_on < ${startOf('week', '-14 days')} order by expected_on desc, 1 limit 20`,
  ],
];

test.each(rows)('%s', async (question, sql) => {
  const expected = await company.rows(sql);
  // On some days nothing is expected in the week that follows.
  if (!question.includes('next week')) expect(expected.length).toBeGreaterThan(0);
  const answer = await company.ask(question);
  const width = expected[0]?.length ?? 1;
  const actual = tableOf(answer).map((row) => row.slice(0, width));
  const sorted = question.startsWith('Which purchase orders') ? [actual.toSorted(), expected.toSorted()] : [actual, expected];
  expect({ answer, rows: sorted[0] }).toEqual({ answer, rows: sorted[1] });
});

test('a row of each month has the range beside it', async () => {
  const [[from]] = (await company.rows(
    `select to_char(date_trunc('month', current_date - interval '6 months' + interval '1 day'), 'YYYY-MM-DD') || ' to ' || current_date`,
  )) as [[string]];
  expect(await company.ask('monthly order totals for the last 6 months')).toContain(`last 6 months (${from})`);
});

test.each([
  ['orders on 3 March', 'order date on 3 March (2026-03-03). Assumed: without a year, the last one that has begun.'],
  ['How many orders since last Monday?', 'order date since last Monday (from '],
  ['How many orders did we get two weeks ago?', 'order date the week 2 weeks ago ('],
  ['How many orders were shipped on Mondays this year?', 'shipped on this year on Mondays ('],
  ['Which customers ordered on a Sunday?', 'with orders on Sundays'],
  ['invoices due on 3 December', 'Assumed: without a year, the last one or one in the next six months.'],
])('%s: the answer says which days were counted', async (question, words) => {
  const march = (await company.rows(`select extract(year from current_date - interval '2 months 2 days')`))[0]?.[0];
  expect((await company.ask(question)).replaceAll(/\s+/g, ' ')).toContain(words.replace('2026', march ?? ''));
});

test('a first week that begins before the span is named', async () => {
  const answer = await company.ask('orders per week since 2026-10-01');
  expect(answer).toContain('The first week is counted from 2026-10-01 on.');
  expect(await company.ask('orders per month since 2026-10-01')).not.toContain('The first month');
});

test.each([
  ['revenue growth by month', 'growth'],
  ['monthly growth of revenue', 'growth'],
  ['revenue growth per quarter', 'growth'],
  ['how did revenue change month by month', 'change'],
  ['revenue per month compared with last year', 'compared'],
  ['orders by month against last year', 'against'],
  ['Compare revenue by month this year with last year', 'last'],
  ['quarterly revenue this year vs last year', 'vs'],
  ['Compare revenue by channel with last month', 'Compare'],
  ['Compare revenue this month with last year', 'last'],
  ['Revenue the same month last year', 'same'],
  ['How many orders did we have this time last year?', 'last'],
  ['Compare revenue this quarter with the same month last year', 'same'],
  ['revenue last month last year', 'last'],
  ['total amount of the largest invoice', 'largest'],
  ['next invoice due', 'next'],
  ['highest and lowest revenue by month this year', 'highest'],
  ['revenue by country sorted ascending', 'ascending'],
  ['How many orders were placed recently?', 'recently'],
  ['Revenue per country, only countries with more than 10 customers', '10'],
  ['customers with fewer than 3 orders', 'orders'],
  ['customers who ordered fewer than 3 times', 'orders'],
  ['Orders more than 5 times', '5'],
  ['Which products sold at least 5 times?', '5'],
  ['customers with orders over 1000', 'over'],
  ['How many customers ordered more than 1000?', 'more than'],
  ['How many customers bought more than 1000 last year?', 'more than'],
  ['orders with invoices over 1000', 'over'],
  ['revenue through March', 'through'],
  ['revenue through last month', 'through'],
  ['outstanding amount as of December 2025', 'as of'],
  ['How many open invoices did we have as of last month?', 'as of'],
  ['invoices issued in late March', 'late'],
  ['How many current customers do we have?', 'current'],
  ['current suppliers', 'current'],
])('%s is not answered with a figure', async (question) => {
  const answer = await company.ask(question);
  expect({ answer, figures: answer.includes('Counted: ') }).toEqual({ answer, figures: false });
  expect(tableOf(answer)).toEqual([]);
});

test.each([
  'How many orders will we get next month?',
  'How much revenue will we make this year?',
  'revenue next quarter',
  'How many orders will be shipped tomorrow?',
  'How many customers will we have in 2030?',
  'How many orders will we get?',
  'Payments received by method next week',
])('%s is about the future and has no figure', async (question) => {
  const answer = await company.ask(question);
  expect(answer).toMatch(/^That asks about the future: .* no forecasts/);
  expect(tableOf(answer)).toEqual([]);
});
