import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { companyOf, type Demonstration, tableOf } from './demonstration.ts';

let company: Demonstration;
beforeAll(async () => {
  company = await companyOf(`
    create table employees (id int primary key, name text, salary numeric, manager_id int references employees);
    insert into employees values (1, 'Ada', 10, null), (2, 'Bob', 20, 1), (3, 'Cyd', 30, 1);
    create table categories (id int primary key, name text, parent_id int);
    insert into categories values (1, 'Furniture', null), (2, 'Desks', 1), (3, 'Chairs', 1);
    create table projects (id int primary key, title text, budget numeric, lead_id int references employees);
    insert into projects values (1, 'Alpha', 100, 1), (2, 'Beta', 200, 1);
    create table assignments (id int primary key, project_id int references projects, employee_id int references employees, hours numeric);
    insert into assignments values (1, 1, 2, 5), (2, 2, 3, 6);
  `);
});
afterAll(() => company?.stop());

test.each([
  'how many employees report to Ada',
  'employees under Ada',
  'employees of Ada',
  'how many categories are in Furniture',
  'how many categories of Furniture are there',
])('rows below a row are not that row: %s', async (question) => {
  expect(await company.ask(question)).toContain('I understand questions such as');
});

test('a row is found by its own name', async () => {
  expect(tableOf(await company.ask('what is the salary of Ada'))).toEqual([['10']]);
  expect(tableOf(await company.ask('how many employees are named Ada')).length).toBeLessThan(2);
});
