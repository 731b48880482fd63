import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { detailOf } from './step-detail.ts';

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
