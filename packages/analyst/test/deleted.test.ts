import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { companyOf, type Demonstration, tableOf } from './demonstration.ts';

let company: Demonstration;
beforeAll(async () => {
  company = await companyOf(`
    create table customers (id int primary key, name text, country text, created_at timestamp, deleted_at timestamp);
    insert into customers values (1, 'Alder', 'Germany', '2026-01-01', null), (2, 'Birch', 'Germany', '2026-01-01', '2026-02-01'),
      (3, 'Cedar', 'France', '2026-01-01', null);
    create table orders (id int primary key, customer_id int references customers, total numeric, status text, order_date date, "isDeleted" boolean);
    insert into orders values (1, 1, 100, 'shipped', '2026-01-02', false), (2, 1, 7, 'shipped', '2026-01-02', true),
      (3, 2, 40, 'shipped', '2026-01-02', null), (4, 3, 5, 'shipped', '2026-01-02', true);
    create table order_items (id int primary key, order_id int references orders, quantity int, line_total numeric);
    insert into order_items values (1, 1, 2, 100), (2, 2, 3, 7), (3, 3, 1, 40);
    create table suppliers (id int primary key, name text, deleted_on date);
    insert into suppliers values (1, 'Dill', current_date), (2, 'Elm', null);
    create table drivers (id int primary key, name text, del_flg char(1));
    insert into drivers values (1, 'Fir', 'N'), (2, 'Gorse', 'Y'), (3, 'Hazel', null), (4, 'Ivy', '0');
    create table vehicles (id int primary key, model text, is_deleted smallint);
    insert into vehicles values (1, 'Van', 0), (2, 'Truck', 1), (3, 'Car', null);
    create type yes_no as enum ('YES', 'NO');
    create table garages (id int primary key, name text, deleted_flag yes_no);
    insert into garages values (1, 'A', 'YES'), (2, 'B', 'NO');
    create table permits (id int primary key, name text, issued_on date, removed_at timestamp);
    insert into permits values (1, 'A', '2026-01-01', null), (2, 'B', '2026-01-01', '2026-02-01');
  `);
});
afterAll(() => company?.stop());

test.each([
  ['how many customers do we have', '2'],
  ['how many customers are in Germany', '1'],
  ['what is our revenue', '140'],
  ['how many units were sold', '3'],
  ['average order value', '70.00'],
  ['how many customers have orders', '1'],
  ['how many customers have no orders', '1'],
  ['how many customers were deleted in February 2026', '1'],
  ['how many drivers are there', '3'],
  ['how many vehicles do we have', '2'],
  ['how many garages do we have', '1'],
  ['how many permits are there', '1'],
  ['how many permits were removed in February 2026', '1'],
])('rows that are marked as deleted count where the question asks for them: %s', async (question, figure) => {
  expect(tableOf(await company.ask(question))).toEqual([[figure]]);
});

test('the answer says that it leaves them out', async () => {
  expect(await company.ask('how many customers are in Germany')).toContain('Counted: customers, country Germany, without deleted ones.');
  expect(await company.ask('how many units were sold')).toContain('without deleted orders');
  expect(await company.ask('how many permits are there')).toContain('without removed ones');
});

test('another day than that of the mark leaves them out again', async () => {
  const earlier = ['how many customers were deleted in February 2026'];
  expect(tableOf(await company.ask('and created in January 2026?', { earlier }))).toEqual([['2']]);
});

test('rows do not begin on the day on which they were deleted', async () => {
  expect(await company.ask('how many suppliers this year')).not.toContain('**');
});
