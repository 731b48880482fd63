import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { companyOf, type Demonstration, tableOf } from './demonstration.ts';

let company: Demonstration;
beforeAll(async () => {
  company = await companyOf(`
    create table flights (id int primary key, code text, origin text, destination text, departs_on date);
    insert into flights values (1, 'F1', 'Berlin', 'Lyon', '2026-11-01'), (2, 'F2', 'Lyon', 'Berlin', '2026-11-01'), (3, 'F3', 'Oslo', 'Berlin', '2026-11-01');
    create table customers (id int primary key, name text, country text);
    insert into customers values (1, 'Alder', 'Germany'), (2, 'Birch', 'France'), (3, 'Cedar', 'Spain');
    create table stores (id int primary key, name text, country text);
    insert into stores values (1, 'North', 'Germany'), (2, 'South', 'Spain');
    create table orders (id int primary key, customer_id int references customers, channel text, ship_country text, total numeric, order_date date);
    insert into orders values (1, 1, 'web', 'France', 100, current_date), (2, 2, 'web', 'Germany', 50, current_date), (3, 3, 'web', 'Spain', 25, current_date);
    create table receipts (id int primary key, customer_id int references customers, store_id int references stores, amount numeric);
    insert into receipts values (1, 1, 2, 7), (2, 3, 1, 9);
    create table products (id int primary key, name text, discontinued boolean, active boolean);
    insert into products values (1, 'Desk', true, true), (2, 'Lamp', false, false), (3, 'Mat', null, null);
  `);
});
afterAll(() => company?.stop());

test.each(['flights to Berlin', 'how many flights from Berlin'])('a value of several columns is asked back about: %s', async (question) => {
  const answer = await company.ask(question);
  expect(answer).not.toContain('Counted');
  expect(answer).toMatch(/could not place “Berlin” \((origin|destination) of flights or/);
});

test.each([
  ['how many flights with destination Berlin', [['2']]],
  ['how many flights whose origin is Berlin', [['1']]],
  ['flights by destination for Berlin', [['Berlin', '2']]],
  ['revenue by country for web and France', [['France', '50']]],
  ['revenue by ship country for France', [['France', '100']]],
  ['how many receipts from customers in Germany', [['1']]],
])('a word beside the value, or the groups, say which column is meant: %s', async (question, rows) => {
  expect(tableOf(await company.ask(question))).toEqual(rows);
});

test('a further value is one of the column of the question before', async () => {
  const earlier = ['revenue from customers in Germany'];
  expect(tableOf(await company.ask(earlier[0] as string))).toEqual([['100']]);
  expect(tableOf(await company.ask('and France?', { earlier }))).toEqual([['50']]);
});

test('a value of tables that the rows do not lead to is asked back about without their columns', async () => {
  expect(await company.ask('how many flights for Germany')).toMatch(/could not place “Germany”\. I/);
});

test('of two tables that are as near, the answer says which one it takes', async () => {
  const answer = await company.ask('how many receipts in Germany');
  expect(tableOf(answer)).toEqual([['1']]);
  expect(answer).toContain('Assumed: Germany: the country of customers, not the country of stores.');
});

test.each([
  ['how many products are discontinued', '1'],
  ['how many products are not discontinued', '2'],
  ['what percentage of products is not discontinued', '66.7'],
  ['how many products are inactive', '1'],
  ['how many products are not active', '2'],
])('rows without a mark are not marked: %s', async (question, figure) => {
  expect(tableOf(await company.ask(question))).toEqual([[figure]]);
});
