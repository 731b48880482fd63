import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readDescription } from '../src/tools.ts';
import { companyOf, type Demonstration, tableOf } from './demonstration.ts';

let company: Demonstration;
beforeAll(async () => {
  company = await companyOf(`
    create type phase as enum ('planned', 'lost');
    create domain kilograms as numeric(12,3);
    create domain phase_of_freight as phase;
    create table shipments (id int primary key, weight kilograms, fee numeric, phase phase_of_freight);
    insert into shipments values (1, 1.5, 10, 'planned'), (2, 2.25, 20, 'lost'), (3, null, 30, 'lost');
  `);
});
afterAll(() => company?.stop());

test.each([
  ['total weight of shipments', [['3.750']]],
  ['average weight of shipments', [['1.88']]],
  ['how many lost shipments', [['2']]],
])('a column whose type is a domain is read by the type of its values: %s', async (question, rows) => {
  expect(tableOf(await company.ask(question))).toEqual(rows);
});

test('a comment says nothing about the type of its column', () => {
  const { columns } = readDescription("table a\n- net: numeric(12,2) -- a sum, one of 'net', 'gross'\n- b: integer -- x, stored as text");
  expect(columns.map(({ kind }) => kind)).toEqual(['number', 'number']);
});
