import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { wordsOf } from '../src/words/words.ts';
import { companyOf, type Demonstration, tableOf } from './demonstration.ts';

let company: Demonstration;
beforeAll(async () => {
  company = await companyOf(`
    create table invoices (id int primary key, number text, amount numeric, issued_on date);
    insert into invoices values (1, 'I1', -200, '2026-03-01'), (2, 'I2', -50, '2026-03-02'), (3, 'I3', 2, '2026-03-03'), (4, 'I4', 5000, '2026-03-04');
  `);
});
afterAll(() => company?.stop());

test.each([
  ['how many invoices with amount below -100', '1'],
  ['how many invoices with amount < −100', '1'],
  ['how many invoices with amount>-100', '3'],
  ['how many invoices with amount below - 100', '1'],
  ['how many invoices with amount below -€100', '1'],
  ['how many invoices with amount between -100 and 10', '2'],
  ['how many invoices with amount under 1,000.50', '3'],
  ['how many invoices with amount under 0.125', '2'],
  ['how many invoices with amount over 1.5', '2'],
])('a number keeps its sign: %s', async (question, count) => {
  expect(tableOf(await company.ask(question))).toEqual([[count]]);
});

test.each([
  ['invoices over 1.000', '1.000'],
  ['invoices over 1.000.000', '1.000.000'],
  ['invoices over 1.000,50', '1.000,50'],
  ['how many invoices with amount below -1.000', '-1.000'],
  ['show the -5 largest invoices', '-5'],
  ['how many invoices in the last -5 days', '-5'],
])('a number that readers may take for several is asked back about: %s', async (question, number) => {
  const answer = await company.ask(question);
  expect(answer).toMatch(new RegExp(`could not place .*“${number}`));
  expect(answer).not.toContain('Counted');
});

test('a dash between words, days and numbers is no sign', () => {
  const text = '- total 5-10, best-selling from 2026-01-31 -2026-02-01 A-7';
  expect(wordsOf(text).map(({ lower }) => lower)).toEqual(['total', '5', '10', 'best-selling', 'from', '2026-01-31', '2026-02-01', 'a-7']);
});
