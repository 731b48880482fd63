import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { companyOf, type Demonstration, tableOf } from './demonstration.ts';

let company: Demonstration;
beforeAll(async () => {
  company = await companyOf(`
    create table orders (id int primary key, total numeric, order_date date, due_on date, shipped_at timestamptz);
    insert into orders values (1, 1, '2026-03-01', '2026-03-05', '2026-03-05 14:00'), (2, 1, '2026-03-01', '2026-03-05', '2026-03-06 00:30'),
      (3, 1, '2026-03-01', '2026-03-05', '2026-03-04 10:00');
    create table loans (id int primary key, loaned_on date, due_at timestamp, returned_on date);
    insert into loans values (1, '2026-03-01', '2026-03-05 09:00', '2026-03-05'), (2, '2026-03-01', '2026-03-05 09:00', '2026-03-06');
    create table repairs (id int primary key, opened_at timestamp, due_at timestamp, completed_at timestamp);
    insert into repairs values (1, '2026-03-01', '2026-03-05 09:00', '2026-03-05 10:00'), (2, '2026-03-01', '2026-03-05 09:00', '2026-03-05 08:00');
  `);
});
afterAll(() => company?.stop());

test.each([
  ['how many orders were shipped late', '1'],
  ['how many orders were shipped on time', '2'],
  ['how many loans were returned late', '1'],
  ['how many loans were returned on time', '1'],
  ['how many repairs were completed late', '1'],
  ['how many repairs were completed on time', '1'],
])('what is done in the course of its day is not late, unless it is due at a time: %s', async (question, count) => {
  expect(tableOf(await company.ask(question))).toEqual([[count]]);
});
