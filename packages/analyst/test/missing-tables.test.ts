import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { companyOf, type Demonstration, tableOf } from './demonstration.ts';

let company: Demonstration;
beforeAll(async () => {
  company = await companyOf('create table invoices (id int primary key, total numeric); insert into invoices values (1, 10), (2, 5)', [
    'customers',
    'invoices(id, paid_at)',
  ]);
});
afterAll(() => company?.stop());

test('a question that is not understood is told which tables of the scope the data source lacks', async () => {
  expect(await company.ask('how many customers do we have')).toMatch(
    /I could not place .*customers.*\. The data source does not have now what this agent is meant to read: customers, invoices\(id, paid_at\)\. I understand/s,
  );
});

test('a question about the tables that are there is answered', async () => {
  expect(tableOf(await company.ask('how many invoices are there'))).toEqual([['2']]);
});
