import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { keysOf, longestKeys } from './row-keys.ts';

test('names the rows of an update or a delete by their keys, and nothing else of them', () => {
  const rows = [{ key: { id: 1 }, values: { note: 'SECRET' } }, { key: { id: 2 } }];
  expect(JSON.parse(keysOf({ operation: 'update', table: 't', rows }))).toEqual([{ id: 1 }, { id: 2 }]);
  expect(JSON.parse(keysOf({ operation: 'delete', table: 't', rows: [{ key: { a: 'x', b: 'y' } }] }))).toEqual([{ a: 'x', b: 'y' }]);
  expect(keysOf({ operation: 'insert', table: 't', rows })).toBe('');
});

const key = fc.dictionary(fc.string({ minLength: 1, maxLength: 20 }), fc.oneof(fc.string({ maxLength: 300 }), fc.integer()), {
  maxKeys: 3,
});

test('as many of the first keys are kept as there is room for, whole', () => {
  fc.assert(
    fc.property(fc.array(key, { maxLength: 50 }), (keys) => {
      const json = keysOf({ operation: 'delete', table: 't', rows: keys.map((one) => ({ key: one })) });
      expect(json.length).toBeLessThanOrEqual(longestKeys);
      const kept = json === '' ? [] : JSON.parse(json);
      expect(kept).toEqual(JSON.parse(JSON.stringify(keys.slice(0, kept.length))));
      if (kept.length < keys.length) expect(JSON.stringify(keys.slice(0, kept.length + 1)).length).toBeGreaterThan(longestKeys);
    }),
  );
});

test('whatever a model sends, there are keys or none', () => {
  fc.assert(
    fc.property(fc.constantFrom('insert', 'update', 'delete'), fc.anything(), fc.anything(), (operation, rows, key) => {
      for (const given of [rows, { operation, rows }, { operation, rows: [key] }, undefined]) {
        const json = keysOf(given);
        expect(json === '' || Array.isArray(JSON.parse(json))).toBe(true);
      }
    }),
  );
});
