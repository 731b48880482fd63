import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { companyOf, type Demonstration, tableOf } from './demonstration.ts';

let company: Demonstration;
beforeAll(async () => {
  company = await companyOf(`
    create table accounts (id int primary key, name text, currency text);
    insert into accounts values (1, 'Alder', 'EUR'), (2, 'Birch', 'EUR');
    create table invoices (id int primary key, number text, account_id int references accounts, total_cents int, currency text, status text,
      issued_on date, due_on date, paid_at timestamptz);
    insert into invoices values
      (1, 'I1', 1, 1000, 'EUR', 'open', current_date - 40, current_date - 10, null),
      (2, 'I2', 1, 2000, 'EUR', 'draft', current_date - 40, current_date - 10, null),
      (3, 'I3', 2, 4000, 'EUR', 'paid', current_date - 40, current_date - 10, now()),
      (4, 'I4', 2, 8000, 'EUR', 'open', current_date, current_date + 10, null);
    create table invoice_lines (id int primary key, invoice_id int references invoices, unit_amount_cents int, amount_cents int, qty int);
    insert into invoice_lines values (1, 1, 500, 1000, 2), (2, 3, 1000, 4000, 4);
    create table payments (id int primary key, invoice_id int references invoices, amount_cents int);
    insert into payments values (1, 1, 300), (2, 3, 4000);
    create table shipments (id int primary key, delivered_at date, state text, qty int);
    insert into shipments values (1, '2026-01-01', 'Delivered', 1), (2, '2026-01-02', 'Lost', 1), (3, null, 'Planned', 1);
    create view arrived_shipments as select id, delivered_at, state, qty, qty * 2 as load from shipments where state = 'Delivered';
    create table teachers (id int primary key, name text, enrolled boolean);
    insert into teachers values (1, 'Ada', true), (2, 'Bob', false);
    create table pupils (id int primary key, name text, status text, teacher_id int references teachers);
    insert into pupils values (1, 'Cy', 'enrolled', 2), (2, 'Di', 'left', 1), (3, 'Ed', 'enrolled', 2);
    create table partners (id int primary key, name text, created_at date);
    insert into partners values (1, 'Fir', '2024-05-01'), (2, 'Gum', '2025-05-01');
    create table transfers (id int primary key, partner_id int references partners, created_at date);
    insert into transfers values (1, 1, '2025-06-01'), (2, 1, '2025-07-01'), (3, 2, '2026-01-01');
    create table subjects (id int primary key, caption text);
    insert into subjects values (1, 'Maths'), (2, 'Music');
    create table exams (id int primary key, subject_id int references subjects, points numeric(3,1));
    insert into exams values (1, 1, 2.5), (2, 2, 6.0);
    create table emp (emp_id int primary key, emp_nm text, mgr_id int references emp);
    insert into emp values (1, 'Root Boss', null), (2, 'Mia', 1), (3, 'Ned', 1);
  `);
});
afterAll(() => company?.stop());

test('a term of business says that its amounts are in cents', async () => {
  expect(await company.ask('how much is overdue?')).toMatch(/^\*\*Overdue amount in cents: 1,000\*\*/);
});

test('drafts are not overdue, whether they are counted or added up', async () => {
  expect(tableOf(await company.ask('how many overdue invoices?'))).toEqual([['1']]);
  expect(tableOf(await company.ask('how much is overdue?'))).toEqual([['1000']]);
});

test('a column of the name that was said comes before one whose name ends with it', async () => {
  expect(tableOf(await company.ask('total amount of invoice lines'))).toEqual([['5000']]);
});

test('a value of the rows themselves comes before a mark of rows that they refer to', async () => {
  expect(tableOf(await company.ask('how many pupils are enrolled?'))).toEqual([['2']]);
});

test('rows to which something has happened are told from those with a value of that name', async () => {
  const delivered = await company.ask('how many shipments are delivered?');
  expect(tableOf(delivered)).toEqual([['2']]);
  const others = await company.ask('how many shipments are not delivered?');
  expect(tableOf(others)).toEqual([['1']]);
  for (const answer of [delivered, others]) expect(answer).toContain('Assumed: Delivered: by delivered at, not by the state of shipments.');
});

test('rows below a row of the same table are not that row, also where no column is known to name it', async () => {
  expect(await company.ask('how many emp report to Root Boss?')).toContain('I understand questions such as');
});

test('the total of an unnamed thing is no number of rows that no word names', async () => {
  expect(await company.ask('total invoiced in EUR')).not.toContain('Number of accounts');
});

test('a number that several tables have is that of one of them, and the answer says of which', async () => {
  const answer = await company.ask('total qty');
  expect(answer).toContain('Assumed: qty: that of invoice lines, not of arrived shipments or shipments.');
  expect(await company.ask('total qty of shipments')).not.toContain('Assumed');
});

test('a table comes before a view that may have a part of its rows', async () => {
  expect(tableOf(await company.ask('total qty by state'))).toEqual([
    ['Delivered', '1'],
    ['Lost', '1'],
    ['Planned', '1'],
  ]);
  expect(tableOf(await company.ask('total load'))).toEqual([['2']]);
});

test('rows that have the day of a verb themselves are not found by what refers to them', async () => {
  const answer = await company.ask('how many partners were created in 2025?');
  expect(tableOf(answer)).toEqual([['1']]);
  expect(answer).toContain('Counted: partners, created at in 2025');
});

test('the highest number by a table is no single number', async () => {
  expect(await company.ask('highest points by subject')).not.toContain('**Highest points: 6.0**');
});

test('payments are rows, and not only those of invoices that have been paid', async () => {
  const answer = await company.ask('total amount of payments');
  expect(tableOf(answer)).toEqual([['4300']]);
  expect(answer).not.toContain('paid at');
});

test.each([
  ['unit_price numeric, unit_cost numeric', ['What is our gross profit?', 'gross margin', 'total profit']],
  ['list_price numeric, cost numeric', ['What is our gross profit?', 'gross margin']],
  ['price numeric, unit_cost numeric', ['gross profit by category']],
])('prices of pieces are no profit: %s', async (columns, questions) => {
  const other = await companyOf(`
    create table products (id int primary key, name text, category text, ${columns});
    insert into products values (1, 'Desk', 'office', 50, 30), (2, 'Lamp', 'home', 20, 5);
  `);
  try {
    for (const question of questions) expect(await other.ask(question)).toMatch(/could not place “.*(profit|margin)/);
  } finally {
    await other.stop();
  }
});

test('the prices of lines are a profit', async () => {
  const other = await companyOf(`
    create table treatments (id int primary key, name text, price_eur numeric, material_cost_eur numeric);
    insert into treatments values (1, 'A', 50, 30), (2, 'B', 20, 5);
  `);
  try {
    expect(tableOf(await other.ask('What is our gross profit?'))).toEqual([['€35']]);
  } finally {
    await other.stop();
  }
});
