import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { companyOf, type Demonstration, tableOf } from './demonstration.ts';

let company: Demonstration;
beforeAll(async () => {
  company = await companyOf(`
    create table tickets (id int primary key, subject text, status text, opened_at timestamp, closed_at timestamp);
    insert into tickets values (1, 'a', 'open', '2026-01-01', null), (2, 'b', 'closed', '2026-01-31', '2026-02-02'), (3, 'c', 'open', '2026-02-01', null);
    create table visits (id int primary key, status text, scheduled_at timestamp);
    insert into visits values (1, 'scheduled', '2026-01-01'), (2, 'cancelled', '2026-01-02'), (3, 'done', '2026-01-03');
    create table cases (id int primary key, name text, opened_on date, closed_on date);
    insert into cases values (1, 'A', '2026-01-01', null), (2, 'B', '2026-01-02', '2026-01-03');
    create table employees (id int primary key, name text, status text);
    insert into employees values (1, 'Ada', 'active'), (2, 'Bob', 'active'), (3, 'Cy', 'active'), (4, 'Di', 'active');
    create table leave_requests (id int primary key, employee_id int references employees, status text, start_date date, end_date date);
    insert into leave_requests values (1, 1, 'approved', current_date - 3, null), (2, 2, 'approved', current_date - 3, current_date + 1),
      (3, 3, 'approved', current_date - 9, current_date - 5), (4, 4, 'approved', current_date + 400, null), (5, 4, 'pending', current_date, null);
  `);
});
afterAll(() => company?.stop());

test.each([
  ['how many open tickets', '2'],
  ['how many tickets are open', '2'],
  ['how many tickets were opened in January 2026', '2'],
  ['how many scheduled visits', '1'],
  ['how many scheduled visits in January 2026', '1'],
  ['what percentage of tickets is open', '66.7'],
])('a state is not the day on which it began: %s', async (question, figure) => {
  expect(tableOf(await company.ask(question))).toEqual([[figure]]);
});

test('open rows without a state of that name are asked back about', async () => {
  expect(await company.ask('how many open cases')).toContain('I could not place “open”');
  expect(await company.ask('how many open tickets in January 2026')).toContain('I understand questions such as');
});

test('leave without a last day goes on', async () => {
  expect(tableOf(await company.ask('how many people are on leave today?'))).toEqual([['2']]);
  const rows = tableOf(await company.ask('Who is on leave today?'));
  expect(rows.flat()).toEqual(expect.arrayContaining(['Ada', 'Bob']));
  expect(rows).toHaveLength(2);
});
