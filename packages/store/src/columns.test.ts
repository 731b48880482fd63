import { expect, test } from '@jest/globals';
import { arrayRows, assign, columnValues, insertInto, jsonRows, type RowColumns, toArrays, toJson, toValues } from './columns.ts';

interface Item {
  id: string;
  count: number;
  at: number;
}

const columns: RowColumns<Item> = {
  id: ['text', ({ id }) => id],
  amount: ['bigint', ({ count }) => count],
  at: ['time', ({ at }) => at],
};
const rows: Item[] = [
  { id: 'a', count: 1, at: 5 },
  { id: 'b', count: 2, at: 6 },
];

test('rows go as an array for each column, in the order of the columns', () => {
  expect(toArrays(columns, rows)).toEqual([
    ['a', 'b'],
    [1, 2],
    [5, 6],
  ]);
  expect(arrayRows(columns, ['$1', '$2', '$3'], 'item')).toBe('unnest($1::text[], $2::bigint[], $3::float8[]) as item(id, amount, at)');
});

test('rows go as one JSON parameter with the names of the columns', () => {
  expect(JSON.parse(toJson(columns, rows.slice(0, 1)))).toEqual([{ id: 'a', amount: 1, at: 5 }]);
  expect(jsonRows(columns, '$1', 'item')).toBe('jsonb_to_recordset($1::jsonb) as item(id text, amount bigint, at float8)');
});

test('an insert and an update name their columns, and a time becomes a timestamp', () => {
  expect(insertInto('items', columnValues(columns))).toBe(
    'insert into items (id, amount, at) select id, amount, to_timestamp(at::float8 / 1000)',
  );
  expect(toValues(columns, rows[0] as Item)).toEqual(['a', 1, 5]);
  expect(assign(columnValues(columns, (_, index) => `$${index + 1}`))).toBe('id = $1, amount = $2, at = to_timestamp($3::float8 / 1000)');
});
