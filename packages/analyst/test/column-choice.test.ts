import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { companyOf, type Demonstration, jsonOf, tableOf } from './demonstration.ts';

let company: Demonstration;
beforeAll(async () => {
  company = await companyOf(`
    create table customers (id int primary key, name text, country text, confirmed_at timestamptz, created_at timestamptz);
    insert into customers values (1, 'Alder', 'Sweden', '2026-03-01', '2025-01-10'), (2, 'Birch', 'Norway', null, '2025-02-10');
    create table orders (id int primary key, customer_id int references customers, status text, canceled_at date, total numeric, placed_on date);
    insert into orders values (1, 1, 'shipped', null, 10, '2025-04-01'), (2, 2, 'shipped', null, 20, '2025-05-01'), (3, 2, 'canceled', '2025-06-02', 40, '2025-05-02');
    create table tickets (id int primary key, subject text, last_reply_at date, updated_at date, created_at date, closed_at date);
    insert into tickets values (1, 'A', '2026-01-01', '2026-01-02', '2025-07-01', null);
    create table cancellations (id int primary key, reason text, cancelled_at date, synced_at date);
    insert into cancellations values (1, 'A', '2025-03-01', '2026-01-01');
    create table refunds (id int primary key, reason text, imported_at date, approved_on date);
    insert into refunds values (1, 'A', '2026-01-01', '2025-03-01');
    create table payments (id int primary key, method text, paid_at date, updated_at date);
    insert into payments values (1, 'A', '2025-03-01', '2026-01-01');
    create table suppliers (id int primary key, name text, country text);
    insert into suppliers values (1, 'Fir', 'Denmark'), (2, 'Gum', 'Norway');
    create table deliveries (id int primary key, customer_id int references customers, supplier_id int references suppliers, quantity int);
    insert into deliveries values (1, 1, 1, 7), (2, 1, 2, 5), (3, 2, 1, 3);
    create table invoices (id int primary key, customer_id int references customers, issued_on date, amount_eur numeric, amount_usd numeric);
    insert into invoices values (1, 1, '2025-04-01', 900, 1050), (2, 2, '2025-05-01', 2000, 2300), (3, 2, '2025-05-01', 10, 12);
  `);
});
afterAll(() => company?.stop());

test.each([
  [
    'revenue by month',
    'orders, without canceled orders, by placed on',
    [
      ['2025-04', '10'],
      ['2025-05', '20'],
    ],
  ],
  ['tickets by month', 'tickets, by created at', [['2025-07', '1']]],
  [
    'customers by month',
    'customers, by created at',
    [
      ['2025-01', '1'],
      ['2025-02', '1'],
    ],
  ],
  ['tickets created in 2025 by month', 'tickets, created at in 2025 (2025-01-01 to 2025-12-31)', [['2025-07', '1']]],
])('rows are of the day on which they began, and the answer says which that is: %s', async (question, counted, rows) => {
  const answer = await company.ask(question);
  expect(answer).toContain(`Counted: ${counted}.`);
  expect(tableOf(answer)).toEqual(rows);
});

test.each([
  ['cancellations', 'cancelled at'],
  ['refunds', 'approved on'],
  ['payments', 'paid at'],
])('rows of a later event are of its day, and not of one that a program set: %s', async (rows, day) => {
  const answer = await company.ask(`${rows} by month`);
  expect(answer).toContain(`Counted: ${rows}, by ${day}.`);
  expect(tableOf(answer)).toEqual([['2025-03', '1']]);
});

test.each([
  ['total amount of invoices in USD', [['$3,362']]],
  ['total amount usd', [['$3,362']]],
  ['total amount in dollars', [['$3,362']]],
  ['how many invoices over 1000 USD', [['2']]],
  ['how many invoices with an amount over 1000 USD', [['2']]],
  ['total amount of invoices over 1000 USD', [['$3,350']]],
  ['how many invoices over 1000 EUR', [['1']]],
  [
    'average amount of invoices in USD by customer',
    [
      ['Birch', '$1,156.00'],
      ['Alder', '$1,050.00'],
    ],
  ],
  ['total amount of invoices in EUR', [['€2,910']]],
])('an amount is that of the currency that was said: %s', async (question, rows) => {
  expect(tableOf(await company.ask(question))).toEqual(rows);
});

test.each(['top 3 invoices in USD', 'how many invoices in USD', 'total amount of invoices in GBP', 'invoices over 1000 GBP'])(
  'a currency in which no amount of the question is has no answer: %s',
  async (question) => {
    expect(await company.ask(question)).toContain('could not place');
  },
);

test('groups by columns of the same name in two tables are told apart', async () => {
  const question = 'total quantity of deliveries by customer country and supplier country';
  expect(jsonOf(await company.ask(question, { output: { format: 'json', charts: false } }))).toMatchObject({
    rows: [
      { country: 'Sweden', 'country of suppliers': 'Denmark', 'total quantity': 7 },
      { country: 'Sweden', 'country of suppliers': 'Norway', 'total quantity': 5 },
      { country: 'Norway', 'country of suppliers': 'Denmark', 'total quantity': 3 },
    ],
  });
  expect(await company.ask(question, { output: { format: 'markdown', charts: true } })).toContain('"field": "country of suppliers"');
});
