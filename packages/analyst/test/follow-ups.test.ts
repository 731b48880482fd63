import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Demonstration, demonstration, tableOf } from './demonstration.ts';

let company: Demonstration;
beforeAll(async () => {
  company = await demonstration();
});
afterAll(() => company?.stop());

test.each<[question: string, ...earlier: string[]]>([
  ['by country?', 'Which customers are inactive?'],
  ['show by country', 'Which customers are inactive?'],
  ['by status?', 'List overdue invoices'],
  ['by department', 'Who is on leave this week?'],
  ['by warehouse', 'List products'],
  ['split by country', 'Customers without orders this year'],
  ['without cancelled', 'List products'],
  ['in Germany?', 'Who is on leave this week?'],
  ['by country?', 'Hello'],
  ['in Germany?', 'Hello'],
  ['by country?'],
  ['without cancelled'],
  ['by country?', 'Which customers are inactive?', 'by country?'],
])('a fragment that cannot continue the question before names no rows of its own: %s', async (question, ...earlier) => {
  const answer = await company.ask(question, { earlier });
  expect(answer).toContain('I understand questions such as');
  expect(tableOf(answer)).toEqual([]);
});

test.each<[question: string, sql: string]>([
  ['by country, how many customers do we have?', 'select country, count(*) from customers group by 1 order by 2 desc, 1'],
  [
    'average salary by job title',
    `select job_title, round(avg(salary), 2) from employees where status = 'active' group by 1 order by 2 desc, 1`,
  ],
  ['How many were hired in 2025?', 'select count(*) from employees where extract(year from hired_on) = 2025'],
])('a question of its own stands after any other: %s', async (question, sql) => {
  expect(tableOf(await company.ask(question, { earlier: ['Hello', 'What is our stock value?'] }))).toEqual(await company.rows(sql));
});
