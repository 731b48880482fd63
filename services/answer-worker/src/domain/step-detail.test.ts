import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { changeIn, detailOf } from './step-detail.ts';

test('says what was asked, of a change never the values', () => {
  expect(detailOf('query', { sql: ' select 1 ' })).toBe('select 1');
  expect(detailOf('describe_table', { table: 'orders' })).toBe('orders');
  expect(detailOf('list_tables', {})).toBe('');
  const change = { table: 'orders', operation: 'update', rows: [{ key: { id: 1 }, values: { note: 'SECRET' } }] };
  expect(detailOf('change', change)).toBe('update orders (1 row)');
});

test('whatever a model sends becomes a text that can be shown', () => {
  fc.assert(
    fc.property(fc.constantFrom('query', 'describe_table', 'change', 'list_tables'), fc.anything(), (tool, input) => {
      const detail = detailOf(tool, input);
      expect([detail.isWellFormed(), detail.length <= 2_000]).toEqual([true, true]);
    }),
  );
});

test('the detail of a change says its parts again, and no other detail does', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('insert', 'update', 'delete'),
      fc.string({ minLength: 1, maxLength: 200 }),
      fc.array(fc.constant({}), { minLength: 1, maxLength: 50 }),
      (operation, table, rows) => {
        expect(changeIn(detailOf('change', { operation, table, rows }))).toEqual({ operation, table, rows: rows.length });
      },
    ),
  );
  for (const detail of ['', 'orders', 'select 1', 'drop orders (1 row)', 'update orders']) expect(changeIn(detail)).toBeUndefined();
});
