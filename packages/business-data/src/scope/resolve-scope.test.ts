import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { catalogColumn, catalogTable } from '../../test/support/catalog.ts';
import { type Catalog, type CatalogTable, quote, quoteIfNeeded } from './catalog.ts';
import { resolveScope } from './resolve-scope.ts';
import { findWritten } from './scope.ts';

const table = (schema: string, name: string, columns: readonly string[], more: Partial<CatalogTable> = {}): CatalogTable => {
  const described = columns.map((column) => catalogColumn(column));
  return catalogTable(schema, name, described, { comment: 'about all of it', primaryKey: ['id'], ...more });
};

const catalog: Catalog = {
  defaultSchema: 'public',
  tables: [
    table('public', 'orders', ['id', 'total', 'secret', 'customer'], {
      foreignKeys: [{ columns: ['customer'], schema: 'public', table: 'customers', references: ['id'] }],
    }),
    table('public', 'customers', ['id', 'Name']),
    table('sales', 'orders', ['id', 'amount']),
    table('sales', 'Deals', ['id']),
    table('a', 'twice', ['id']),
    table('b', 'twice', ['id']),
  ],
  effects: [],
};

const resolve = (...tables: string[]) => resolveScope(catalog, { tables, readOnly: true });
const shape = (...tables: string[]) =>
  resolve(...tables).scope.tables.map(({ written, columns }) => [written, columns.map(({ name }) => name)]);

test('names are PostgreSQL’s: folded unless quoted; a bare name means the default schema, else the only one', () => {
  expect(shape('orders(id, TOTAL)')).toEqual([['orders', ['id', 'total']]]);
  expect(shape('Customers("Name")')).toEqual([['customers', ['Name']]]);
  expect(shape('sales.orders')).toEqual([['orders', ['id', 'amount']]]);
  expect(shape('orders(id)', 'sales.orders')).toEqual([
    ['orders', ['id']],
    ['sales.orders', ['id', 'amount']],
  ]);
  expect(shape('"Deals"')).toEqual([['"Deals"', ['id']]]);
  expect(shape('orders(id)', 'orders(total)')).toEqual([['orders', ['id', 'total']]]);
});

test('what is unknown is named with its place, and left out', () => {
  const { scope, unknown } = resolve('orders(id)', 'nothing', 'orders(nope, id)', 'twice', 'orders(', 'x.orders');
  expect(scope.tables).toHaveLength(1);
  expect(unknown.map(({ index }) => index)).toEqual([1, 2, 3, 4, 5]);
  expect(unknown.map(({ reason }) => reason).join('\n')).toMatch(
    /no table nothing.*\n.*no column nope.*\n.*several schemas: a, b\n.*not a table.*\n.*no table x\.orders/,
  );
});

test('keys, references and comments are shown only if everything that they name is in scope', () => {
  const [orders] = resolve('orders(total, customer)').scope.tables;
  expect(orders).toMatchObject({ primaryKey: [], foreignKeys: [], comment: null });
  expect(resolve('orders', 'customers("Name")').scope.tables[0]?.foreignKeys).toEqual([]);
  expect(resolve('orders(id, total)', 'customers').scope.tables[0]?.foreignKeys).toEqual([]);
  const [whole] = resolve('orders', 'customers').scope.tables;
  expect([whole?.primaryKey, whole?.foreignKeys.length, whole?.comment]).toEqual([['id'], 1, 'about all of it']);
});

test('a key of several columns is not shown, nor are references to it, if one of them is outside the scope', () => {
  const key = ['order_id', 'line'];
  const foreignKeys = [{ columns: key, schema: 'public', table: 'lines', references: key }];
  const tables = [
    table('public', 'lines', [...key, 'amount'], { primaryKey: key }),
    table('public', 'returns', [...key, 'reason'], { primaryKey: key, foreignKeys }),
  ];
  const keysOf = (...entries: string[]) =>
    resolveScope({ defaultSchema: 'public', tables, effects: [] }, { tables: entries, readOnly: true }).scope.tables.map((each) => [
      each.primaryKey.length,
      each.foreignKeys.length,
    ]);
  expect(keysOf('returns', 'lines')).toEqual([
    [2, 1],
    [2, 0],
  ]);
  expect(keysOf('returns(order_id, reason)', 'lines')).toEqual([
    [0, 0],
    [2, 0],
  ]);
  expect(keysOf('returns', 'lines(line)')).toEqual([
    [2, 0],
    [0, 0],
  ]);
});

test('the cost of keys does not grow with the columns of their tables', () => {
  let reads = 0;
  const columns = Array.from({ length: 1_600 }, (_, index) => ({
    ...catalogColumn(`c${index}`),
    get name() {
      reads += 1;
      return `c${index}`;
    },
  }));
  const key = { columns: ['c0'], schema: 'public', table: 'wide', references: Array(32).fill('c1599') };
  const wide = catalogTable('public', 'wide', columns, { primaryKey: [], foreignKeys: Array(1_000).fill(key) });
  reads = 0;
  const { scope } = resolveScope({ defaultSchema: 'public', tables: [wide], effects: [] }, { tables: ['wide'], readOnly: true });
  expect(scope.tables[0]?.foreignKeys).toHaveLength(1_000);
  expect(reads).toBeLessThan(10 * columns.length);
});

test('any names of any catalogue survive being written and read', () => {
  const name = fc
    .string({ minLength: 1, maxLength: 12, unit: 'grapheme' })
    .filter((text) => !text.includes('\0') && Buffer.byteLength(text) <= 63);
  fc.assert(
    fc.property(name, name, fc.uniqueArray(name, { minLength: 1 }), (schema, tableName, columns) => {
      const own: Catalog = { defaultSchema: 'public', tables: [table(schema, tableName, columns)], effects: [] };
      const written = `${quote(schema)}.${quote(tableName)}(${columns.map(quote).join(', ')})`;
      const { scope, unknown } = resolveScope(own, { tables: [written], readOnly: true });
      expect([unknown, scope.tables[0]?.columns.map((column) => column.name)]).toEqual([[], columns]);
    }),
  );
});

test('names are quoted exactly where PostgreSQL needs it', () => {
  expect(['orders', 'Orders', 'order', 'a b', '1a', 'a"b', 'total_2'].map(quoteIfNeeded)).toEqual([
    'orders',
    '"Orders"',
    '"order"',
    '"a b"',
    '"1a"',
    '"a""b"',
    'total_2',
  ]);
});

test('of two tables of one name a text means the one that statements write so, in any order of the scope', () => {
  const both = resolve('sales.orders', 'orders', '"Deals"', 'a.twice', 'b.twice').scope;
  const schemas = ['orders', 'sales.orders', 'Deals', '"Deals"', 'twice', 'b.twice'].map((text) => findWritten(both, text)?.schema);
  expect(schemas).toEqual(['public', 'sales', 'sales', 'sales', undefined, 'b']);
});
