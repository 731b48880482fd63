import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { companyOf, type Demonstration, tableOf } from './demonstration.ts';

let company: Demonstration;
beforeAll(async () => {
  company = await companyOf(`
    create table customers (customer_id int primary key, first_name text, last_name text, segment text);
    insert into customers values (1, 'Anna', 'Alder', 'retail'), (2, 'Anna', 'Birch', 'retail'), (3, 'Carl', 'Cedar', 'trade'), (4, 'Carl', 'Cedar', 'trade');
    create table orders (order_id int primary key, customer_id int references customers, status text, total numeric, order_date date);
    insert into orders values (1, 1, 'shipped', 1000, current_date), (2, 2, 'shipped', 530, current_date), (3, 3, 'shipped', 70, current_date),
      (4, 4, 'shipped', 40, current_date), (5, 1, 'shipped', 5, current_date);
    create table members (id int primary key, full_name text);
    insert into members values (1, 'Alder'), (2, 'Birch');
    create table loans (id int primary key, member_id int references members, fine numeric, loaned_on date);
    insert into loans values (1, 1, 100, current_date), (2, 2, 50, current_date), (3, null, 25, current_date), (4, null, 25, current_date), (5, null, 25, current_date);
    create table bills (id int primary key, amount numeric, billed_on date);
    insert into bills values (1, 90, '2025-01-05'), (2, 100, '2025-02-05'), (3, 60, '2025-03-05'), (4, 50, '2025-03-06'), (5, 600, null), (6, 1, null);
    create table warehouses (id int primary key, name text);
    create table transfers (id int primary key, source_id int references warehouses, destination_id int references warehouses, quantity int);
    create table prices (id int, name text, valid_from date, primary key (id, valid_from));
    insert into prices values (1, 'Basic', '2025-01-01'), (1, 'Basic', '2026-01-01'), (2, 'Extra', '2026-01-01');
    create table bookings (id int primary key, price_id int, price_from date, amount numeric, foreign key (price_id, price_from) references prices);
    insert into bookings values (1, 1, '2026-01-01', 10), (2, 2, '2026-01-01', 5);
    create table offers (id int, name text, edition int, unique (id, edition));
    create table sales (id int primary key, price_id int, offer_id int, offer_edition int, amount numeric, foreign key (offer_id, offer_edition) references offers (id, edition));
    insert into offers values (1, 'Spring', 1), (1, 'Spring', 2);
    insert into sales values (1, 1, 1, 2, 10), (2, 2, 1, 1, 5);
    create table rooms (id int primary key, name text);
    create table stays (id int primary key, room_id int, amount numeric);
    insert into rooms values (1, 'Oak'), (2, 'Elm');
    insert into stays values (1, 1, 10), (2, 2, 5), (3, 2, 2);
    insert into warehouses values (1, 'Hamburg'), (2, 'Lyon'), (3, 'Oslo');
    insert into transfers values (1, 1, 2, 5), (2, 1, 2, 7), (3, 1, 2, 9);
  `);
});
afterAll(() => company?.stop());

test('people of the same first name, or of the same name, are two groups where the key is not called id', async () => {
  expect(tableOf(await company.ask('top 4 customers by revenue'))).toEqual([
    ['Anna Alder', '1005'],
    ['Anna Birch', '530'],
    ['Carl Cedar', '70'],
    ['Carl Cedar', '40'],
  ]);
  expect(tableOf(await company.ask('average revenue per customer'))).toEqual([['411.25']]);
  expect(tableOf(await company.ask('how many customers have more than 1 order'))).toEqual([['1']]);
});

test('rows that refer to people show both names', async () => {
  const [first] = tableOf(await company.ask('the largest order'));
  expect(first?.slice(0, 2)).toEqual(['1', 'Anna Alder']);
  expect(await company.ask('list customers')).toContain('| first name | last name |');
});

test('groups by one of the names are those of the question', async () => {
  expect(tableOf(await company.ask('revenue by first name'))).toEqual([
    ['Anna', '1535'],
    ['Carl', '110'],
  ]);
});

test('a list shows the row of each key, where two lead to one table', async () => {
  const answer = await company.ask('list transfers');
  expect(answer).toContain('| source | destination |');
  expect(tableOf(answer).map((row) => row.slice(1, 3))).toEqual(Array(3).fill(['Hamburg', 'Lyon']));
});

test.each([
  ['transfers by warehouse', [['Hamburg', '3']]],
  ['how many transfers for Lyon', [['0']]],
  ['how many warehouses have transfers', [['1']]],
])('the answer says which of two keys it takes: %s', async (question, rows) => {
  const answer = await company.ask(question);
  expect(answer).toContain('warehouses: those of source, not of destination');
  expect(tableOf(answer)).toEqual(rows);
});

test.each(['how many transfers to Lyon', 'list transfers from Hamburg', 'transfers without warehouse'])(
  'a word that bears on one of two keys is asked back about: %s',
  async (question) => {
    expect(await company.ask(question)).toContain('could not place');
  },
);

test('rows that either of two keys refers to have such rows', async () => {
  const answer = await company.ask('list warehouses without transfers');
  expect(tableOf(answer)).toEqual([['Oslo']]);
  expect(answer).toContain('without transfers by source id or destination id');
});

test.each([
  ['how many members have at least 1 loan', [['2']]],
  [
    'members with at least 1 loan',
    [
      ['Alder', '1'],
      ['Birch', '1'],
    ],
  ],
  ['average number of loans per member', [['1.00']]],
  ['which member has the most loans', [['Alder', '1']]],
  [
    'how many loans by member',
    [
      [null, '3'],
      ['Alder', '1'],
      ['Birch', '1'],
    ],
  ],
])('rows that refer to no member are not those of one: %s', async (question, rows) => {
  expect(tableOf(await company.ask(question))).toEqual(rows);
});

test.each([
  'total amount of bookings by price',
  'total amount of sales by price',
  'total amount of sales by offer',
  'how many sales for Basic',
])('a column that names several rows of a table is no key to it, also by its name: %s', async (question) => {
  expect(await company.ask(question)).toContain('I understand questions such as');
});

test('a column is a key by its name where it names one row', async () => {
  expect(tableOf(await company.ask('total amount of stays by room'))).toEqual([
    ['Oak', '10'],
    ['Elm', '7'],
  ]);
});

test.each([
  ['average invoiced amount per month', [['100.00']]],
  ['number of bills by month with more than 1 bill', [['2025-03', '2']]],
  [
    'top 2 months by number of bills',
    [
      ['2025-03', '2'],
      ['2025-01', '1'],
    ],
  ],
  ['which month had the highest invoiced amount', [['2025-03', '110']]],
])('rows without a day are of no month: %s', async (question, rows) => {
  expect(tableOf(await company.ask(question))).toEqual(rows);
});

test('an average per month says that a month that is not over may be in it', async () => {
  expect(await company.ask('average invoiced amount per month')).toContain('only months with such bills, also one that is not over');
  const bounded = await company.ask('average invoiced amount per month in 2025');
  expect(bounded).toContain('billed on in 2025 (2025-01-01 to 2025-12-31)');
  expect(bounded).not.toContain('not over');
  expect(await company.ask('average invoiced amount per year this year')).toContain('The last year is not over');
});

test.each([
  ['how many loans have members', '2', 'loans, with members'],
  ['how many loans with members', '2', 'loans, with members'],
  ['how many loans without a member', '3', 'loans, without members'],
])('rows that refer to none are not those that have one: %s', async (question, figure, counted) => {
  const answer = await company.ask(question);
  expect(answer).toContain(`Counted: ${counted}.`);
  expect(tableOf(answer)).toEqual([[figure]]);
});

test('a column leads by its name to a table whose key is not known only where its ids differ', async () => {
  const versions = `id int, valid_from date, name text, primary key (id, valid_from)`;
  const other = await companyOf(
    `
    create table customers (${versions});
    insert into customers values (1, '2025-01-01', 'Alder'), (1, '2026-01-01', 'Alder'), (2, '2026-01-01', 'Birch');
    create table orders (id int primary key, customer_id int, customer_from date, total numeric, order_date date,
      foreign key (customer_id, customer_from) references customers);
    insert into orders values (1, 1, '2026-01-01', 10, current_date), (2, 2, '2026-01-01', 5, current_date);
    create table branches (id int, name text);
    insert into branches values (1, 'Oslo'), (2, 'Bergen');
    create table offices (id int, name text);
    insert into offices values (1, 'Alta'), (1, 'Alta'), (2, 'Vardo');
    create view desks as select id, name from branches;
    create table visits (id int primary key, branch_id int, office_id int, desk_id int);
    insert into visits values (1, 1, 1, 2), (2, 1, 1, 2);
  `,
    [],
    (name) => ({ customers: 'customers(id, name)', orders: 'orders(id, customer_id, total, order_date)' })[name] ?? name,
  );
  try {
    expect(await other.ask('revenue by customer')).toContain('I understand questions such as');
    expect(await other.ask('how many visits by office')).toContain('I understand questions such as');
    expect(tableOf(await other.ask('how many visits by branch'))).toEqual([['Oslo', '2']]);
    expect(tableOf(await other.ask('how many visits by desk'))).toEqual([['Bergen', '2']]);
  } finally {
    await other.stop();
  }
});
