import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { companyOf, type Demonstration, tableOf } from './demonstration.ts';

let company: Demonstration;
beforeAll(async () => {
  company = await companyOf(`
    create table countries (id int primary key, name text, currency text);
    insert into countries values (1, 'Germany', 'EUR'), (2, 'Japan', 'JPY');
    create table customers (id int primary key, name text, country_id int references countries);
    insert into customers values (1, 'Alder', 1), (2, 'Birch', 2);
    create table orders (id int primary key, customer_id int references customers, total numeric, currency text, status text, order_date date);
    insert into orders values (1, 1, 100, 'EUR', 'shipped', '2026-01-01'), (2, 2, 9000, 'JPY', 'shipped', '2026-01-02'), (3, 1, 50, 'eur', 'shipped', '2026-01-03');
    create table order_items (id int primary key, order_id int references orders, quantity int, line_total numeric);
    insert into order_items values (1, 1, 1, 100), (2, 2, 1, 9000);
    create table invoices (id int primary key, customer_id int references customers, amount numeric, issued_on date);
    insert into invoices values (1, 1, 10, '2026-01-01'), (2, 2, 20, '2026-01-02');
    create table subscriptions (id int primary key, seats int, mrr int, tax_cents int, ccy char(3));
    insert into subscriptions values (1, 3, 40, 7, 'EUR'), (2, 4, 50, 8, 'USD');
    create table donations (id int primary key, gift numeric, gift_currency text);
    insert into donations select n, 10, 'C' || n from generate_series(1, 41) n;
    create table tolls (id int primary key, toll_amount numeric, currency text, region text);
    insert into tolls select n, 1, case when n > 20000 then 'PLN' else 'CZK' end, case when n < 5 then 'north' else 'south' end
      from generate_series(1, 20001) n;
    create table rents (id int primary key, rent_amount numeric, currency text);
    insert into rents select n, 1, 'SEK' from generate_series(1, 20001) n;
  `);
});
afterAll(() => company?.stop());

test.each([
  'what is our revenue',
  'revenue by customer',
  'average order value',
  'which customer has the highest revenue',
  'total line total of order items',
  'which order has the highest total',
  'top 2 orders by total',
  'share of revenue by currency',
  'which currency has the highest revenue',
  'revenue in EUR or JPY',
  'revenue not in JPY by customer',
])('amounts of several currencies are asked back about: %s', async (question) => {
  const answer = await company.ask(question);
  expect(answer).toMatch(/^The amounts are in EUR and JPY \(currency of orders\): ask for one of them, or by currency/);
  expect(answer).toContain('I understand questions such as');
});

test.each([
  ['revenue in EUR', [['150']]],
  ['revenue in JPY', [['9000']]],
  ['how many orders do we have', [['3']]],
  ['total amount of invoices', [['30']]],
])('one currency has a figure: %s', async (question, rows) => {
  expect(tableOf(await company.ask(question))).toEqual(rows);
});

test('each currency has a group of its own', async () => {
  expect((await company.ask('revenue by currency')).split('\n')).toContain('| JPY | 9,000 |');
  const earlier = ['what is our revenue'];
  expect(tableOf(await company.ask('and in JPY?', { earlier }))).toEqual([['9000']]);
});

test.each(['total mrr of subscriptions', 'average mrr', 'total tax', 'top 1 subscriptions by mrr'])(
  'a number beside a column of currencies is an amount under any name of both: %s',
  async (question) => {
    expect(await company.ask(question)).toMatch(/^The amounts are in EUR and USD \(ccy of subscriptions\)/);
  },
);

test('a number of another unit beside them is none', async () => {
  expect(tableOf(await company.ask('total seats of subscriptions'))).toEqual([['7']]);
  expect(tableOf(await company.ask('total mrr by ccy'))).toEqual([
    ['USD', '50'],
    ['EUR', '40'],
  ]);
});

test('many currencies are several as well', async () => {
  expect(await company.ask('total gift of donations')).toMatch(/^The amounts are in several currencies \(gift currency of donations\)/);
});

test('a currency beyond the sampled rows is one of several', async () => {
  expect(await company.ask('total toll amount')).toMatch(/^The amounts are in CZK and PLN \(currency of tolls\)/);
  expect(tableOf(await company.ask('total toll amount in north'))).toEqual([['4']]);
  expect(tableOf(await company.ask('total rent amount'))).toEqual([['20001']]);
});
