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
