import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { companyOf, type Demonstration, demonstration, tableOf } from './demonstration.ts';

let company: Demonstration;
beforeAll(async () => {
  company = await demonstration();
});
afterAll(() => company?.stop());

test.each<[question: string, ...earlier: string[]]>([
  ['by country?', 'Which customers are inactive?'],
  ['show by country', 'Which customers are inactive?'],
  ['by status?', 'List overdue invoices'],
  ['by department', 'Who is on leave this week?'],
  ['by warehouse', 'List products'],
  ['split by country', 'Customers without orders this year'],
  ['without cancelled', 'List products'],
  ['in Germany?', 'Who is on leave this week?'],
  ['by country?', 'Hello'],
  ['in Germany?', 'Hello'],
  ['by country?'],
  ['without cancelled'],
  ['by country?', 'Which customers are inactive?', 'by country?'],
])('a fragment that cannot continue the question before names no rows of its own: %s', async (question, ...earlier) => {
  const answer = await company.ask(question, { earlier });
  expect(answer).toContain('I understand questions such as');
  expect(tableOf(answer)).toEqual([]);
});

test.each<[question: string, sql: string]>([
  ['by country, how many customers do we have?', 'select country, count(*) from customers group by 1 order by 2 desc, 1'],
  [
    'average salary by job title',
    `select job_title, round(avg(salary), 2) from employees where status = 'active' group by 1 order by 2 desc, 1`,
  ],
  ['How many were hired in 2025?', 'select count(*) from employees where extract(year from hired_on) = 2025'],
])('a question of its own stands after any other: %s', async (question, sql) => {
  expect(tableOf(await company.ask(question, { earlier: ['Hello', 'What is our stock value?'] }))).toEqual(await company.rows(sql));
});

test.each<[question: string, earlier: string]>([
  ['what is their total?', 'Who are our top 5 customers by revenue?'],
  ['how much is that in total?', 'Who are our top 5 customers by revenue?'],
  ['how many of them are in Germany?', 'Who are our top 5 customers by revenue?'],
  ['total amount of these?', 'the 5 largest invoices'],
  ['what was their total value', 'the 10 largest orders'],
  ['and the average?', 'top 5 orders by total'],
  ['how many of them are shipped?', 'latest 20 orders'],
  ['how many of them', 'Which suppliers do we spend the most with?'],
  ['what is their total?', 'Customers with more than 10 orders'],
])('a figure of some rows or groups is not that of all: %s', async (question, earlier) => {
  expect(await company.ask(question, { earlier: [earlier] })).toContain('I understand questions such as');
});

test.each<[question: string, earlier: string]>([
  ['how many of them?', 'Revenue by country'],
  ['how many of them are in Germany?', 'Number of orders by customer'],
])('what is counted of groups is theirs or that of their rows: %s', async (question, earlier) => {
  expect(await company.ask(question, { earlier: [earlier] })).toContain('I understand questions such as');
});

test.each<[question: string, earlier: string, sql: string]>([
  ['what is their total?', 'List overdue invoices', "select sum(amount) from invoices where status = 'overdue'"],
  ['how many of them are in Germany?', 'How many customers by segment?', "select count(*) from customers where country = 'Germany'"],
  [
    'how many of them are in Germany?',
    'How many customers ordered in 2025?',
    `select count(distinct customer_id) from orders o join customers c on c.id = customer_id
     where country = 'Germany' and extract(year from order_date) = 2025`,
  ],
  [
    'how many of them are in Germany?',
    'How many customers have overdue invoices?',
    `select count(distinct customer_id) from invoices i join customers c on c.id = customer_id where i.status = 'overdue' and country = 'Germany'`,
  ],
  [
    'how many of them are in Germany?',
    'Customers with more than 10 orders',
    `select count(*) from (select customer_id from orders o join customers c on c.id = customer_id where country = 'Germany'
     group by 1 having count(*) > 10) x`,
  ],
])('a figure of all rows or groups of the question before: %s', async (question, earlier, sql) => {
  expect(tableOf(await company.ask(question, { earlier: [earlier] }))).toEqual(await company.rows(sql));
});

test.each<[question: string, earlier: string]>([
  ['by country?', 'Customers with more than 10 orders'],
  ['and by month?', 'Customers with revenue over 80000'],
  ['by country?', 'How many customers have more than 10 orders?'],
  ['by country?', 'Average revenue per customer'],
  ['by month?', 'Compare revenue this year with last year'],
  ['and by quarter?', 'Compare orders this month with last month'],
])('a limit, an average or a comparison of groups is not that of others: %s', async (question, earlier) => {
  const answer = await company.ask(question, { earlier: [earlier] });
  expect(answer).toContain('I understand questions such as');
  expect(tableOf(answer)).toEqual([]);
});

test.each<[question: string, earlier: string, group: string, order: string]>([
  ['and by month?', 'Who are our top 5 customers by revenue?', "to_char(order_date, 'YYYY-MM')", '1'],
  ['by quarter', 'Which country has the highest revenue?', `to_char(order_date, 'YYYY-"Q"Q')`, '1'],
  ['by segment', 'Which customer has the highest revenue?', 'segment', '2 desc'],
  ['top 3 by month', 'Who are our top 5 customers by revenue?', "to_char(order_date, 'YYYY-MM')", '2 desc limit 3'],
])('as many groups are shown as the follow-up asks for: %s', async (question, earlier, group, order) => {
  const answer = await company.ask(question, { earlier: [earlier] });
  const sql = `select ${group}, sum(total) from orders join customers c on c.id = customer_id where orders.status <> 'cancelled' group by 1 order by ${order}`;
  expect(tableOf(answer)).toEqual(await company.rows(sql));
});

const percentage = (part: string, whole = 'true') =>
  `select round(100.0 * count(*) filter (where ${part}) / count(*), 1) from orders where ${whole}`;

test.each<[question: string, sql: string]>([
  ['and delivered?', percentage("status = 'delivered'")],
  ['what about delivered web orders?', percentage("status = 'delivered'", "channel = 'web'")],
  ['only web', percentage("status = 'cancelled'", "channel = 'web'")],
])('another value of the same column is another part of a percentage: %s', async (question, sql) => {
  const answer = await company.ask(question, { earlier: ['What percentage of orders is cancelled?'] });
  expect(tableOf(answer)).toEqual(await company.rows(sql));
});

test.each(['only delivered', 'without delivered', 'how many of them?'])(
  'of a percentage, these may be the part or the whole: %s',
  async (question) => {
    const answer = await company.ask(question, { earlier: ['What percentage of orders is cancelled?'] });
    expect(answer).toContain('I understand questions such as');
  },
);

test.each<[question: string, earlier: string]>([
  ['total?', 'the 5 largest invoices'],
  ['the total', 'the 5 largest invoices'],
  ['average total', 'the 5 largest invoices'],
  ['total?', 'latest 10 invoices'],
  ['total?', 'Top 3 employees by salary'],
  ['total?', 'What percentage of invoices is overdue?'],
])(
  'words that would have two meanings after the question before are not read as one about other rows: %s after %s',
  async (question, earlier) => {
    const answer = await company.ask(question, { earlier: [earlier] });
    expect(answer).toContain('I understand questions such as');
    expect(tableOf(answer)).toEqual([]);
  },
);

test('words after part of the rows are a question of their own where they name rows', async () => {
  const answer = await company.ask('total of orders?', { earlier: ['the 5 largest invoices'] });
  expect(tableOf(answer)).toEqual(await company.rows('select sum(total) from orders'));
});

test('a day whose name has the word behind without is not what a fragment is about', async () => {
  const other = await companyOf(`
    create table orders (id int primary key, status text, total numeric, placed_on date);
    insert into orders values (1, 'shipped', 10, '2025-04-01'), (2, 'cancelled', 20, '2025-05-01');
    create table subscriptions (id int primary key, plan text, started_on date, cancelled_at date);
    insert into subscriptions values (1, 'Basic', '2025-01-01', null), (2, 'Extra', '2025-01-01', '2025-02-01');
  `);
  try {
    const earlier = ['What percentage of orders is cancelled?'];
    for (const options of [{ earlier }, { earlier: ['Hello'] }, {}]) {
      const answer = await other.ask('without cancelled', options);
      expect(answer).toContain('I understand questions such as');
      expect(tableOf(answer)).toEqual([]);
    }
  } finally {
    await other.stop();
  }
});
