import { formatRows } from '@agent-service/business-data/results';
import { anyCharacter, checkProperty } from '@agent-service/testkit/properties';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readDescription, readRows, readTableList, schemaOf } from '../src/tools.ts';

const cell = fc.option(
  fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 30 }),
    fc.constantFrom('|', ' | ', '\\', '\\n', '\n', '(1 row)', '', 'NULL', '\\NULL'),
  ),
);
const rows = fc
  .integer({ min: 1, max: 4 })
  .chain((width) => fc.array(fc.array(cell, { minLength: width, maxLength: width }), { maxLength: 6 }));

test('rows that were formatted for a model are parsed without loss', () => {
  checkProperty(
    fc.property(rows, fc.boolean(), (input, truncated) => {
      const columns = Array.from({ length: input[0]?.length ?? 1 }, (_, index) => `column ${index}`);
      expect(readRows(formatRows({ columns, rows: input, truncated }))).toEqual({ rows: input, truncated });
    }),
  );
});

test.each(['There is no table "x" here.', '', 'a\nb', 'The statement took longer than 10 seconds.', '(4 rows)'])(
  '%j is no result',
  (text) => {
    expect(readRows(text)).toBeUndefined();
  },
);

test.each(['The data source does not answer.', '', 'no (tables', 'nothing here'])('%j is no list of tables', (text) => {
  expect(readTableList(text)).toBeUndefined();
});

test('any text is parsed without a failure', () => {
  const line = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 20 }),
    fc.constantFrom('- "a', '- a: integer', '(a) refers to ', '"x"(a, ', 'a(b)', '\n'),
  );
  const text = fc.array(line, { maxLength: 8 }).map((lines) => lines.join(''));
  checkProperty(
    fc.property(text, (input) => {
      readTableList(input);
      readDescription(input);
      readRows(input);
    }),
  );
});

test('tables of one name in two schemas have qualified names, and keys refer to the right one', () => {
  const listed =
    readTableList('customers(id, name) about 12 rows -- a comment (with, commas)\nold.customers(id)\norders(id, customer_id)') ?? [];
  const described = [
    readDescription('table customers\n- id: integer, never empty\n- name: text -- a: b'),
    readDescription('table old.customers\n- id: bigint'),
    readDescription(
      'table orders\n- id: integer\n- customer_id: integer\nprimary key (id)\n(customer_id) refers to old.customers (id)\n(a, b) refers to x.y (c, d)',
    ),
  ];
  const schema = schemaOf(listed, described);
  expect(schema.map(({ name, written, rows: count }) => [name, written, count])).toEqual([
    ['customers', 'customers', 12],
    ['old.customers', 'old.customers', undefined],
    ['orders', 'orders', undefined],
  ]);
  expect(schema[0]?.columns).toEqual([
    { name: 'id', kind: 'number', isNeverEmpty: true },
    { name: 'name', kind: 'text' },
  ]);
  expect(schema[2]?.foreignKeys).toEqual([{ column: 'customer_id', table: 'old.customers', references: 'id' }]);
});
