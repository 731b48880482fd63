import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { companyOf, type Demonstration, tableOf } from './demonstration.ts';

let company: Demonstration;
beforeAll(async () => {
  company = await companyOf(`
    create type order_state as enum ('New', 'CANCELED');
    create table customers (id int primary key, name text, city text);
    insert into customers values (1, 'Alder', 'Berlin'), (2, 'Birch', 'berlin'), (3, 'Cedar', 'BERLIN'), (4, 'Dill', 'Lyon');
    create table orders (id int primary key, customer_id int references customers, status text, total numeric, order_date date);
    insert into orders values (1, 1, 'Cancelled', 1000, current_date), (2, 2, 'canceled', 500, current_date), (3, 3, null, 70, current_date),
      (4, 4, 'shipped', 30, current_date), (5, 1, 'Shipped', 5, current_date);
  `);
});
afterAll(() => company?.stop());

test.each([
  ['how many customers are in Berlin', '3'],
  ['how many customers are not in berlin', '1'],
  ['how many customers are in Berlin or Lyon', '4'],
  ['how many cancelled orders', '2'],
  ['how many orders are not canceled', '3'],
  ['what percentage of orders is cancelled', '40.0'],
])('a value counts in all its spellings: %s', async (question, expected) => {
  expect(
    tableOf(await company.ask(question))
      .at(-1)
      ?.at(-1),
  ).toBe(expected);
});

test('the answer names the spellings that it counts', async () => {
  expect(await company.ask('how many customers are in Berlin or Lyon')).toMatch(/city (Berlin|berlin|BERLIN) \(also \w+, \w+\) or Lyon/);
});
