import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { boundChanges, boundChangesJson, maxChangesLength } from './audit-bounds.ts';

const columns = Array.from({ length: 100 }, (_, index) => `a_column_of_this_table_${index}`).join(', ');
const wide = Array.from({ length: 195 }, (_, index) => `table_${index}(${columns})`);

describe('the changes of an audit entry', () => {
  test('are unchanged within the limit', () => {
    const changes = { name: 'Sales', tables: ['orders'], read_only: true };
    expect(boundChanges(changes)).toBe(JSON.stringify(changes));
    expect(boundChangesJson(JSON.stringify(changes))).toBe(JSON.stringify(changes));
  });

  test('a scope of 195 tables with all columns is cut, with a marker of its size', () => {
    const text = boundChanges({ name: 'Wide', 'data_scope.tables': wide, read_only: true });
    const { 'data_scope.tables': tables, ...rest } = JSON.parse(text);
    expect(rest).toEqual({ name: 'Wide', read_only: true });
    expect(tables).toMatchObject({ truncated: true, items: 195, bytes: JSON.stringify(wide).length });
    expect(tables.shown.length).toBeGreaterThan(3);
    expect(tables.shown).toEqual(wide.slice(0, tables.shown.length));
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxChangesLength);
  });

  test('texts, nested objects and objects of many fields are cut as well', () => {
    const text = JSON.parse(boundChanges({ change: 'ä'.repeat(50_000), table: 'orders' }));
    expect(text).toMatchObject({ table: 'orders', change: { truncated: true, characters: 50_000, bytes: 100_002 } });
    expect(text.change.shown).toMatch(/^ä{1000,}$/);
    const nested = JSON.parse(boundChanges({ data_scope: { tables: wide, read_only: false } }));
    expect(nested.data_scope).toMatchObject({ read_only: false, tables: { truncated: true, items: 195 } });
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`key_${index}`, index]));
    expect(JSON.parse(boundChanges({ context: many }))).toEqual({
      context: { truncated: true, bytes: JSON.stringify(many).length, keys: 5_000 },
    });
  });

  test('any changes become JSON within the limit', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { maxKeys: 20 }),
        fc.integer({ min: 300, max: 3_000 }),
        (changes, limit) => {
          const text = boundChanges(changes as Record<string, unknown>, limit);
          expect(Buffer.byteLength(text)).toBeLessThanOrEqual(limit);
          expect(typeof JSON.parse(text)).toBe('object');
          expect(Buffer.byteLength(boundChangesJson(JSON.stringify(changes), limit))).toBeLessThanOrEqual(limit);
        },
      ),
    );
  });
});
