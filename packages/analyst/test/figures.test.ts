import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { companyOf, type Demonstration, tableOf } from './demonstration.ts';

let company: Demonstration;
beforeAll(async () => {
  company = await companyOf(`
    create table customers (id int primary key, name text, country text);
    insert into customers values (1, 'Alder', 'Germany'), (2, 'Birch', 'France'), (3, 'Cedar', 'Spain'), (4, 'Dill', 'Spain');
    create table products (id int primary key, name text, price numeric, unit_cost numeric);
    insert into products values (1, 'Desk', 50, 30), (2, 'Lamp', 50.0, null), (3, 'Mat', 9, null);
    create table orders (id int primary key, customer_id int references customers, total numeric, status text, order_date date, discount_rate numeric);
    insert into orders values (1, 1, 100, 'shipped', '2026-01-02', 0.004), (2, 1, 50, 'shipped', '2026-01-03', 0.003),
      (3, 2, 120, 'shipped', '2026-03-02', 0.002), (4, 2, 20, 'shipped', '2026-03-03', 0.001), (5, 3, 10, 'shipped', '2026-03-04', 0);
    create table readings (id int primary key, amount numeric, read_on date);
    insert into readings select n, n, '2026-01-01' from generate_series(1, 150) n;
    create table invoices (id int primary key, region text, quantity bigint);
    insert into invoices values (1, 'north', 9007199254740992), (2, 'south', 9007199254740993);
    create table order_items (id int primary key, order_id int references orders, product_id int references products, quantity int, line_total numeric);
    insert into order_items values (1, 1, 1, 2, 100), (2, 3, 2, 2, 100), (3, 4, 3, 1, 20);
  `);
});
afterAll(() => company?.stop());

test('shares are parts of all groups, also of those beyond a limit', async () => {
  expect(tableOf(await company.ask('share of revenue by country'))).toContainEqual(['Germany', '150', '50.0']);
  expect(await company.ask('share of revenue by country with revenue over 100')).toContain('I understand questions such as');
});

test.each([
  'share of order value by country',
  'share of average total of orders by country',
  'share of median total of orders by status',
  'share of gross margin by product',
])('averages and ratios are no parts of a whole: %s', async (question) => {
  expect(await company.ask(question)).toContain('I understand questions such as');
});

test.each(['customers with between 0 and 2 orders', 'how many customers have at least 0 orders', 'customers with more than -1 orders'])(
  'groups without any row, which are not there, are asked back about where they would count: %s',
  async (question) => {
    expect(await company.ask(question)).toContain('I understand questions such as');
  },
);

test('a range of at least one row counts only groups with rows', async () => {
  expect(tableOf(await company.ask('how many customers have between 1 and 2 orders'))).toEqual([['3']]);
});

test('a range has its ends in either order', async () => {
  for (const range of ['between 20 and 100', 'between 100 and 20'])
    expect(tableOf(await company.ask(`how many orders have a total ${range}`))).toEqual([['3']]);
});

test.each([
  ['which customer has the most orders', 'It is not the only one'],
  ['most expensive product', 'It is not the only one'],
  ['latest order', undefined],
  ['which region has the highest quantity', undefined],
  ['top 1 customers by number of orders', 'It is not the only one'],
  ['top 2 customers by number of orders', undefined],
  ['top 3 customers by number of orders', undefined],
  ['2 most expensive products', undefined],
  ['which customer has the highest revenue', undefined],
])('what is ranked beside others is not the only one: %s', async (question, note) => {
  const answer = await company.ask(question);
  expect(answer).toContain('Counted: ');
  expect(/It is not the only one|There are others/.exec(answer)?.[0]).toBe(note);
  expect(answer).not.toContain('there are more.');
});

test.each([
  ['average number of orders per customer', 'only customers with such orders'],
  ['which customer has the fewest orders', 'only customers with such orders'],
  ['average revenue per month', 'only months with such orders'],
  ['which customer has the most orders', undefined],
])('an average or the fewest of groups with rows leaves out the others, and says so: %s', async (question, assumed) => {
  const answer = await company.ask(question);
  expect(answer).toContain('Counted: ');
  expect(/only \w+ with such \w+/.exec(answer)?.[0]).toBe(assumed);
});

test('a margin counts the revenue of lines without a cost in neither number, and says so', async () => {
  const answer = await company.ask('what is our gross margin');
  expect(tableOf(answer)).toEqual([['40.0']]);
  expect(answer).toContain('Assumed: only order items with both numbers of the gross margin');
  expect(tableOf(await company.ask('gross margin by product'))).toEqual([
    ['Desk', '40.0'],
    ['Lamp', null],
    ['Mat', null],
  ]);
});

test.each(['the 120 largest readings', 'top 200 readings by amount', 'the 101 latest readings'])(
  'more rows than an answer shows are no others: %s',
  async (question) => {
    const answer = await company.ask(question);
    expect(tableOf(answer)).toHaveLength(100);
    expect(answer).toContain('These are the first 100 of 150; there are more.');
  },
);

test('a follow-up may ask for more rows than an answer shows', async () => {
  const answer = await company.ask('and the top 120?', { earlier: ['top 3 readings by amount'] });
  expect(tableOf(answer)).toHaveLength(100);
  expect(answer).toContain('there are more.');
});

test.each([
  ['top 0 orders by total', []],
  ['top 2.5 orders by total', []],
  ['top 0 customers by revenue', []],
  ['and the top 0?', ['top 3 customers by revenue']],
  ['and the top 1.5?', ['top 3 customers by revenue']],
])('no rows, or parts of them, are not asked for: %s', async (question, earlier) => {
  expect(await company.ask(question, { earlier })).toContain('I could not place');
});

test.each([
  ['what percentage of customers in Germany have orders', '100.0'],
  ['what share of Spanish customers ordered in 2026', '50.0'],
  ['what percentage of customers in Spain have no orders', '50.0'],
  ['what percentage of the customers who ordered in 2026 are from Germany', '33.3'],
  ['what percentage of customers are from Spain', '50.0'],
  ['what percentage of orders come from Germany', '40.0'],
  ['share of German revenue', '50.0'],
])('the rows that a percentage is of are those before its verb: %s', async (question, percent) => {
  expect(tableOf(await company.ask(question))).toEqual([[percent]]);
});

test.each([
  'share of Spanish customers with orders',
  'what percentage of customers with orders from Spain',
  'what percentage of customers have shipped orders',
  'what percentage of products have shipped orders',
])('a percentage with another whole than the rows that it counts is asked back about: %s', async (question) => {
  expect(await company.ask(question)).toContain('I understand questions such as');
});
