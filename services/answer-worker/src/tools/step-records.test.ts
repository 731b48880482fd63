import { anyCharacter } from '@agent-service/testkit/properties';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { changeIn, detailOf, keysOf, maxKeysLength, maxQueries, maxStatementLength, type QueryRecord, withQuery } from './step-records.ts';

test('a detail has the input of a tool, and of a change never the values', () => {
  expect(detailOf('query', { sql: ' select 1 ' })).toBe('select 1');
  expect(detailOf('describe_table', { table: 'orders' })).toBe('orders');
  expect(detailOf('list_tables', {})).toBe('');
  const change = { table: 'orders', operation: 'update', rows: [{ key: { id: 1 }, values: { note: 'SECRET' } }] };
  expect(detailOf('change', change)).toBe('update orders (1 row)');
});

test('any input of a model becomes a well-formed text of bounded length', () => {
  fc.assert(
    fc.property(fc.constantFrom('query', 'describe_table', 'change', 'list_tables'), fc.anything(), (tool, input) => {
      const detail = detailOf(tool, input);
      expect([detail.isWellFormed(), detail.length <= 2_000]).toEqual([true, true]);
    }),
  );
});

test('the detail of a change has its parts, and no other detail has any', () => {
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

test('the keys name the rows of an update or a delete without their values', () => {
  const rows = [{ key: { id: 1 }, values: { note: 'SECRET' } }, { key: { id: 2 } }];
  expect(JSON.parse(keysOf({ operation: 'update', table: 't', rows }))).toEqual([{ id: 1 }, { id: 2 }]);
  expect(JSON.parse(keysOf({ operation: 'delete', table: 't', rows: [{ key: { a: 'x', b: 'y' } }] }))).toEqual([{ a: 'x', b: 'y' }]);
  expect(keysOf({ operation: 'insert', table: 't', rows })).toBe('');
});

const key = fc.dictionary(fc.string({ minLength: 1, maxLength: 20 }), fc.oneof(fc.string({ maxLength: 300 }), fc.integer()), {
  maxKeys: 3,
});

test('as many of the first keys are included as fit', () => {
  fc.assert(
    fc.property(fc.array(key, { maxLength: 50 }), (keys) => {
      const json = keysOf({ operation: 'delete', table: 't', rows: keys.map((one) => ({ key: one })) });
      expect(json.length).toBeLessThanOrEqual(maxKeysLength);
      const included = json === '' ? [] : JSON.parse(json);
      expect(included).toEqual(JSON.parse(JSON.stringify(keys.slice(0, included.length))));
      if (included.length < keys.length) expect(JSON.stringify(keys.slice(0, included.length + 1)).length).toBeGreaterThan(maxKeysLength);
    }),
  );
});

test('any input of a model has keys or none', () => {
  fc.assert(
    fc.property(fc.constantFrom('insert', 'update', 'delete'), fc.anything(), fc.anything(), (operation, rows, key) => {
      for (const input of [rows, { operation, rows }, { operation, rows: [key] }, undefined]) {
        const json = keysOf(input);
        expect(json === '' || Array.isArray(JSON.parse(json))).toBe(true);
      }
    }),
  );
});

const query = fc.record({
  statement: fc.string({ unit: anyCharacter, maxLength: maxStatementLength + 100 }),
  tables: fc.array(fc.string()),
  rows: fc.nat(),
  durationMs: fc.double({ min: 0, max: 1e6, noNaN: true }),
});

test('the first queries are recorded in order, and only long statements are cut', () => {
  fc.assert(
    fc.property(fc.array(query, { maxLength: maxQueries + 20 }), (queries) => {
      const log = queries.reduce<readonly QueryRecord[]>(withQuery, []);
      expect(log).toHaveLength(Math.min(queries.length, maxQueries));
      for (const [index, { statement, rows, durationMs }] of log.entries()) {
        const input = queries[index] as QueryRecord;
        expect([rows, durationMs]).toEqual([input.rows, Math.round(input.durationMs)]);
        if (input.statement.length <= maxStatementLength) expect(statement).toBe(input.statement);
        else expect([statement.length <= maxStatementLength, statement.endsWith('…')]).toEqual([true, true]);
      }
    }),
  );
});
