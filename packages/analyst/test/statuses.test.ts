import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Tool } from '../src/tools.ts';
import { companyOf, type Demonstration, tableOf } from './demonstration.ts';

let company: Demonstration;
beforeAll(async () => {
  company = await companyOf(`
    create type purchase_state as enum ('Open', 'CANCELED');
    create table customers (id int primary key, name text, city text);
    insert into customers values (1, 'Alder', 'Berlin'), (2, 'Birch', 'berlin'), (3, 'Cedar', 'BERLIN'), (4, 'Dill', 'Lyon');
    create table orders (id int primary key, customer_id int references customers, status text, total numeric, order_date date);
    insert into orders values (1, 1, 'Cancelled', 1000, current_date), (2, 2, 'canceled', 500, current_date), (3, 3, null, 70, current_date),
      (4, 4, 'shipped', 30, current_date), (5, 1, 'Shipped', 5, current_date);
    create table purchase_orders (id int primary key, status purchase_state, total numeric, ordered_on date);
    insert into purchase_orders values (1, 'Open', 7, current_date), (2, 'CANCELED', 11, current_date), (3, null, 13, current_date);
    create table invoices (id int primary key, number text, amount numeric, status text, issued_on date, due_on date, paid_on date);
    insert into invoices values (1, 'I1', 100, 'Open', current_date, current_date - 1, null), (2, 'I2', 40, 'VOID', current_date, current_date - 1, null),
      (3, 'I3', 2, 'Canceled', current_date, current_date - 1, null), (4, 'I4', 1, null, current_date, current_date - 1, null);
    create table bills (id int primary key, number text, amount numeric, amount_paid numeric, status text, billed_on date);
    insert into bills values (1, 'B1', 100, 40, 'Open', current_date), (2, 'B2', 60, 60, 'Paid', current_date), (3, 'B3', 7, null, 'Open', current_date), (4, 'B4', 5, null, 'Paid', current_date);
    create table employees (id int primary key, name text, status text, salary numeric, hired_on date);
    create table tickets (id int primary key, state text, owner text);
    insert into tickets select i, case when i % 2 = 0 then 'open' else 'in_review' end, 'Agent' || i % 50 from generate_series(1, 20000) i;
    insert into tickets values (20001, 'Open'), (20002, 'IN REVIEW'), (20003, null);
    insert into employees values (1, 'A', 'Active', 10, '2020-01-01'), (2, 'B', 'ACTIVE', 20, '2020-01-01'), (3, 'C', 'Inactive', 30, '2020-01-01');
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

test.each([
  ['how many open tickets', '10001'],
  ['how many tickets are in review', '10001'],
  ['how many tickets are not open', '10002'],
  ['how many tickets are open or in review', '20002'],
])('a value counts in spellings that the sample does not have: %s', async (question, expected) => {
  expect(tableOf(await company.ask(question))).toEqual([[expected]]);
});

test.each([
  ['how many tickets of Agent7', `where t0.owner::text = 'Agent7'`],
  ['how many tickets not of Agent7', `where (t0.owner is null or t0.owner::text not in ('Agent7'))`],
])('a value of a column with many values is compared as it is written, so that an index serves: %s', async (question, condition) => {
  const statements: string[] = [];
  const tools = company.tools.map(
    (tool): Tool => ({
      ...tool,
      run: (input, signal) => {
        statements.push(JSON.stringify(input));
        return tool.run(input, signal);
      },
    }),
  );
  await company.ask(question, { tools });
  expect(statements.at(-1)).toContain(condition);
  expect(statements.at(-1)).not.toContain('lower(');
});

test('the answer names the spellings that it counts', async () => {
  expect(await company.ask('how many customers are in Berlin or Lyon')).toMatch(/city (Berlin|berlin|BERLIN) \(also \w+, \w+\) or Lyon/);
});

test.each([
  ['what was our revenue this year', '105', 'orders, without cancelled and canceled orders'],
  ['how much did we spend on purchases this year', '20', 'purchase orders, without canceled ones'],
  ['how much did we invoice this year', '101', 'invoices, without void and canceled ones'],
  ['how much is overdue', '101', 'invoices, not paid, without void and canceled ones'],
  ['what is our headcount', '2', 'employees, active ones'],
  ['what is our payroll', '30', 'employees, active ones'],
])('a term of business holds in any capitals, for enums and without a status: %s', async (question, figure, counted) => {
  const answer = await company.ask(question);
  expect(answer).toContain(`Counted: ${counted}`);
  expect(tableOf(answer)).toEqual([[figure]]);
});

test('the part of bills that was paid is not the amount of those that are Paid', async () => {
  expect(await company.ask('how much of the bills has been paid')).not.toMatch(/^\*\*.*60/);
});

test.each([
  ['how much of the bills is outstanding', '67'],
  ['how many bills are outstanding', '2'],
])('a bill without a paid part is not paid, unless its status says so: %s', async (question, figure) => {
  expect(tableOf(await company.ask(question))).toEqual([[figure]]);
});

test.each([
  ['status text, start_date date', "'A'"],
  ['status int, start_date date', '1'],
])('a headcount says that it counts employees of every status where none is called active: %s', async (columns, value) => {
  const other = await companyOf(`
    create table employees (id int primary key, name text, ${columns});
    insert into employees values (1, 'A', ${value}, '2020-01-01'), (2, 'B', ${value}, '2020-01-01');
    create table orders (id int primary key, total numeric, order_date date, ${columns});
    insert into orders values (1, 10, current_date, ${value}, current_date);
  `);
  try {
    const headcount = await other.ask('what is our headcount');
    expect(headcount).toContain('employees of every status');
    expect(headcount).not.toContain('active');
    expect(tableOf(headcount)).toEqual([['2']]);
    const revenue = await other.ask('what was our revenue this year');
    expect(revenue).not.toContain('without cancelled');
    expect(tableOf(revenue)).toEqual([['10']]);
  } finally {
    await other.stop();
  }
});
