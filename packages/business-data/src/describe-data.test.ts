import { checkProperty } from '@agent-service/testkit/properties';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { describeData } from './describe-data.ts';
import type { CatalogColumn } from './scope/catalog.ts';
import { createScope, type ScopedTable } from './scope/scope.ts';

const column = (name: string, comment: string | null = null): CatalogColumn => ({
  name,
  type: 'integer',
  nullable: false,
  generated: false,
  groupable: true,
  comment,
  labels: null,
});

const table = (name: string, columns: number, comment: string | null = null): ScopedTable => ({
  schema: 'public',
  name,
  written: name,
  kind: 'table',
  needsFence: false,
  comment,
  columns: Array.from({ length: columns }, (_, index) => column(`column_${index}`)),
  hasAllColumns: true,
  primaryKey: ['column_0'],
  foreignKeys: [],
  approximateRows: 12,
});

const scopeOf = (tables: readonly ScopedTable[], readOnly = true) => createScope({ tables, readOnly, defaultSchema: 'public' });
const describeIn = (tables: readonly ScopedTable[], maxBytes: number, readOnly = true) =>
  describeData({ scope: scopeOf(tables, readOnly), missing: [] }, { maxBytes, timeZone: 'Asia/Tokyo' });

test('has the dialect, the limits, the time zone, and every table with types, keys and comments', () => {
  const text = describeIn([table('orders', 2, 'Orders of\ncustomers'), table('stock', 1)], 16_000);
  expect(text).toMatch(/PostgreSQL.*at most 100 rows and 1 MB within 10 seconds.*Asia\/Tokyo/);
  expect(text).toContain(
    'table orders about 12 rows -- Orders of customers\n- column_0: integer, never empty\n- column_1: integer, never empty',
  );
  expect(text).toContain('primary key (column_0)\n\ntable stock about 12 rows\n');
  expect(text).not.toContain('The tool change');
  expect(describeIn([table('orders', 1)], 16_000, false)).toContain('The tool change inserts, updates or deletes up to 50 rows');
});

test('names what the scope has and the data source lacks, so that the model can say so', () => {
  const options = { maxBytes: 16_000, timeZone: 'UTC' };
  const entries = ['customers', 'orders(id, total)'];
  expect(describeData({ scope: scopeOf([table('stock', 1)]), missing: entries }, options)).toContain(
    'The data source does not have now what this agent is meant to read: customers, orders(id, total). These are all tables',
  );
  const many = Array.from({ length: 12 }, (_, index) => `t${index}`);
  expect(describeData({ scope: scopeOf([table('stock', 1)]), missing: many }, options)).toContain('t8, t9 and 2 more. ');
  expect(describeIn([table('stock', 1)], 16_000)).not.toContain('does not have');
});

test('names only the largest tables where not all fit, and counts those that are not even named', () => {
  const text = describeIn([table('small', 3), table('wide', 200), table('middle', 20)], 2_500);
  expect(text).toContain('table wide: 200 columns, listed by the tool describe_table');
  for (const name of ['small', 'middle']) expect(text).toContain(`table ${name} about 12 rows\n- column_0`);
  const many = describeIn(
    Array.from({ length: 200 }, (_, index) => table(`table_${index}`, 30)),
    4_000,
  );
  expect(many).toMatch(/table table_0: 30 columns.*\d+ more tables, listed by the tool list_tables$/s);
});

test('never has more bytes than the limit', () => {
  const tables = fc.array(
    fc.tuple(fc.string({ minLength: 1, maxLength: 30 }), fc.integer({ min: 1, max: 60 }), fc.option(fc.string({ unit: 'grapheme' }))),
    { maxLength: 40 },
  );
  checkProperty(
    fc.property(tables, fc.integer({ min: -10, max: 6_000 }), (list, maxBytes) => {
      const scope = scopeOf(list.map(([name, columns, comment]) => table(name, columns, comment)));
      const text = describeData({ scope, missing: [] }, { maxBytes, timeZone: 'UTC' });
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(Math.max(0, maxBytes));
    }),
  );
});

test('is made once for a scope', () => {
  let reads = 0;
  const tables = [table('orders', 2)];
  const scope = {
    ...scopeOf(tables),
    get tables() {
      reads += 1;
      return tables;
    },
  };
  const describe = () => describeData({ scope, missing: [] }, { maxBytes: 16_000, timeZone: 'UTC' });
  const text = describe();
  const firstReads = reads;
  expect(firstReads).toBeGreaterThan(0);
  expect(describe()).toBe(text);
  expect(reads).toBe(firstReads);
});
