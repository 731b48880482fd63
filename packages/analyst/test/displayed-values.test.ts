import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { companyOf, type Demonstration, jsonOf, tableOf } from './demonstration.ts';

let company: Demonstration;
beforeAll(async () => {
  company = await companyOf(`
    create table customers (id int primary key, name text, code text);
    insert into customers values (1, 'NULL', '1.10'), (2, 'A*B*C', '1.1'), (3, '[Sign in](https://evil.example) <M8> a\\|b', '12'), (4, null, null);
    create table invoices (id int primary key, customer_id int references customers, amount numeric, issued_on date);
    insert into invoices values (1, 1, -100, '2026-01-05'), (2, 2, 50, '2026-02-05'), (3, 2, -30, '2026-02-06'), (4, 3, 1e-101, '2026-03-01');
    create table payments (id int primary key, region text, amount double precision);
    insert into payments values (1, 'east', 0.00002), (2, 'north', 0.5), (3, 'south', 12.25), (4, 'west', 2.5e15);
    create table sensors (id int primary key, name text, drift numeric);
    insert into sensors values (1, 'north', 0.001), (2, 'south', 0.004), (3, 'west', -0.002);
    create table readings (id int primary key, sensor_id int references sensors, deviation numeric);
    insert into readings values (1, 1, 0.002), (2, 1, 0.003), (3, 2, 12), (4, 2, 13.5), (5, 3, 0.004);
  `);
});
afterAll(() => company?.stop());

test('a value that reads NULL is not taken for none', async () => {
  const names = tableOf(await company.ask('list customers')).map(([name]) => name);
  expect(names.filter((name) => name === 'NULL' || name === null)).toEqual(expect.arrayContaining(['NULL', null]));
});

test('a value is shown as it is, and never as markup', async () => {
  const answer = await company.ask('list customers');
  expect(answer).toContain('| A\\*B\\*C |');
  expect(answer).toContain('| \\[Sign in](https://evil.example) \\<M8> a\\\\\\|b |');
});

test('a text that looks like a number stays as it is in JSON', async () => {
  const answer = await company.ask('list customers', { output: { format: 'json', charts: false } });
  const { rows } = jsonOf(answer) as { rows: { code: unknown }[] };
  expect(rows.map(({ code }) => code).filter((code) => code !== null)).toEqual(expect.arrayContaining(['1.10', '1.1', '12']));
});

test('an amount of more decimals than are displayed is answered', async () => {
  expect(await company.ask('total amount of invoices in march 2026')).toContain('Total amount: 0.0');
});

test('a change from a negative figure has the sign of the difference', async () => {
  const answer = await company.ask('compare total amount of invoices february 2026 with january 2026');
  expect(tableOf(answer)).toEqual([['20', '-100', '120', '120.0']]);
  expect(answer).toContain('Difference: +120 (+120.0 %)');
});

test.each([
  ['average drift of sensors', '0.001'],
  ['median drift of sensors', '0.001'],
  ['average deviation of readings', '5.10'],
])('an average keeps the digits that it has: %s', async (question, figure) => {
  expect(await company.ask(question)).toContain(` ${figure}`);
});

test('small averages of groups are ranked by all of their digits', async () => {
  expect(tableOf(await company.ask('average deviation of readings by sensor'))).toEqual([
    ['south', '12.75'],
    ['west', '0.004'],
    ['north', '0.0025'],
  ]);
});

test('numbers that the database writes with an exponent are numbers', async () => {
  const question = 'what is the total amount of payments by region';
  const values = [
    ['west', 2.5e15],
    ['south', 12.25],
    ['north', 0.5],
    ['east', 0.00002],
  ].map(([region, total]) => ({ region, 'total amount': total }));
  const answer = await company.ask(question, { output: { format: 'markdown', charts: true } });
  expect(answer).toContain('| --- | ---: |\n| west | 2,500,000,000,000,000 |\n| south | 12.25 |\n| north | 0.5 |\n| east | 0.00002 |');
  expect(JSON.parse(/```vega-lite\n([\s\S]*?)\n```/.exec(answer)?.[1] ?? '').data.values).toEqual(values);
  expect(jsonOf(await company.ask(question, { output: { format: 'json', charts: false } }))).toMatchObject({ rows: values });
});
