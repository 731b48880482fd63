import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { wordsOf } from '../src/words/words.ts';
import { companyOf, type Demonstration, tableOf } from './demonstration.ts';

let company: Demonstration;
beforeAll(async () => {
  company = await companyOf(`
    create table customers (id int primary key, rating text, amount numeric, "points/visit" int);
    insert into customers (id, rating, amount) values (1, 'A', 1), (2, 'A', 2), (3, 'A+', 10), (4, 'A+', 20), (5, 'A+', 30), (6, 'A-', 0.5), (7, 'AA', 5000);
    create table donors (id int primary key, blood_type text);
    insert into donors values (1, 'A'), (2, 'B'), (3, 'a_b');
    create table skills (id int primary key, language text);
    insert into skills values (1, 'C'), (2, 'C'), (3, 'C++'), (4, 'C#'), (5, 'Smith, John'), (6, 'Smith John'), (7, 'Smith John'), (8, 'AC DC'),
      (9, '.NET'), (10, 'NET'), (11, 'Alder Inc.'), (12, 'Smith & Sons');
    create table pages (id int primary key, status text);
    insert into pages (id, status) select id, (array['Know', 'Don''t know', '100', '100%', 'Tier 1', 'Tier 1 (EU)', 'EU', '⭐'])[1 + floor(log(2, id))::int]
      from generate_series(1, 255) id;
  `);
});
afterAll(() => company?.stop());

test.each([
  ['How many customers have the rating A+?', '3'],
  ['How many customers have the rating "A+"?', '3'],
  ['How many customers have the rating A-?', '1'],
  ['How many customers have the rating A?', '2'],
  ['total amount of customers with the rating A+', '60'],
  ['How many customers have points/visit over 5?', '0'],
  ['How many skills have the language C++?', '1'],
  ['How many skills have the language C#?', '1'],
  ['How many skills have the language **C**.', '2'],
  ['How many skills have the language Smith, John?', '1'],
  ['How many skills have the language Smith John?', '2'],
  ['How many skills have the language .NET?', '1'],
  ['How many skills have the language Alder Inc.?', '1'],
  ['How many skills have the language “Smith & Sons”?', '1'],
  ['How many pages have the status "Don\'t know"?', '2'],
  ['How many pages have the status 100%?', '8'],
  ['How many pages have the status "Tier 1 (EU)"?', '32'],
  ['How many pages have the status ⭐?', '128'],
  ['How many pages are there 📊', '255'],
  ['🙏🏽 How many pages are not Know？', '254'],
])('a value is found as it is written in the data: %s', async (question, count) => {
  expect(Number(tableOf(await company.ask(question))[0]?.[0])).toBe(Number(count));
});

test.each([
  ['How many customers have the rating AA-?', '-'],
  ['How many donors have the blood type B+?', '+'],
  ['How many donors have the blood type A/B?', '/'],
  ['How many skills have the language AC/DC?', '/'],
  ['How many customers have the rating !A?', '!'],
  ['How many customers have the rating "!A"?', '!'],
  ['How many customers have the rating ¬A?', '¬'],
  ['How many customers -AA', '-'],
  ['total amount of customers - total amount of customers with the rating A', '−'],
  ['total amount of customers / number of customers', '/'],
  ['customers with amount !> 1000', '!'],
  ['customers with amount =< 1000', '='],
  ['customers with amount => 1000', '='],
  ['customers with amount <1000 || >2000', '||'],
])('a sign that nothing accounts for is asked back about: %s', async (question, sign) => {
  const answer = await company.ask(question);
  expect(answer).toContain('could not place');
  expect(answer).toContain(`“${sign}”`);
  expect(answer).not.toContain('Counted');
});

test.each([
  'total amount of customers with the rating A - AA',
  'total amount of customers with the rating A – AA',
  'total amount of customers with the rating A, A+ - AA',
])('values with a dash between them may be a difference, and are asked back about: %s', async (question) => {
  const answer = await company.ask(question);
  expect(answer).toContain('could not place “AA”');
  expect(answer).not.toContain('Counted');
});

test('values that are compared may have a dash between them', async () => {
  expect(tableOf(await company.ask('compare the total amount of customers with the rating A – AA'))).toEqual([
    ['AA', '5000'],
    ['A', '3'],
  ]);
});

test.each([
  ['How many customers with amount over .99?', '6'],
  ['How many customers with amount below .75', '1'],
  ['How many customers with amount between .1 and .9', '1'],
  ['How many customers with amount over -.5', '7'],
  ['How many customers with amount over $.99', '6'],
  ['How many customers with amount below –100', '0'],
  ['How many customers with amount below ‑5', '0'],
])('a number keeps its point and its sign: %s', async (question, count) => {
  expect(tableOf(await company.ask(question))).toEqual([[count]]);
});

test('the punctuation of a sentence is no word', () => {
  const text =
    "- **total** (in €) and/or “revenue” — by `country` – of order_date, Alder’s; status='x'!\n## is 2020–2022, Jan–Mar or #5 [now]: $5 …?";
  expect(wordsOf(text).map(({ lower }) => lower)).toEqual(
    'total in and or revenue by country of order date alder status x is 2020 2022 jan mar or 5 now 5'.split(' '),
  );
});
