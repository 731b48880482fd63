import { afterEach, expect, test } from '@jest/globals';
import { createDataSource } from '../src/data-source.ts';
import type { Catalog, CatalogEffect } from '../src/scope/catalog.ts';
import { catalogColumn, catalogTable } from './support/catalog.ts';
import { columnsOf, complete, type FakeServer, fakeServer, rowOf } from './support/fake-server.ts';

const servers: FakeServer[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

const json = 114;

/** Reads the catalog of a server that sends these values as each row for the statement with this text. */
async function readCatalog(statement: RegExp, row: Readonly<Record<string, unknown>>, rows = 1): Promise<Catalog> {
  const values = Object.values(row).map((value) => JSON.stringify(value));
  const reply = Buffer.concat([columnsOf(Object.keys(row), json), ...Array(rows).fill(rowOf(values)), complete]);
  const server = await fakeServer({ statement: { text: statement, reply } });
  servers.push(server);
  const source = createDataSource({ url: server.url, poolMax: 1 }, () => undefined);
  try {
    return await source.catalog();
  } finally {
    await source.close();
  }
}

const unavailable = { kind: 'unavailable', message: expect.stringContaining('tables that PostgreSQL cannot have') };

const id = { ...catalogColumn('id'), baseType: null };
const columns = (count: number) => Array.from({ length: count }, (_, index) => ({ ...id, name: `c${index}` }));
const names = (count: number) => columns(count).map(({ name }) => name);
const keyTo = (...references: string[]) => ({ columns: ['id'], schema: 'public', table: 'orders', references });
const orders = catalogTable('public', 'orders', [id], { foreignKeys: [keyTo('id')] });
const readTable = (table: object) => readCatalog(/needsFence/, { table, dependsOnAccount: false, total: 1 });

test('tables that PostgreSQL can have are read', async () => {
  const widest = { ...orders, name: 'x'.repeat(63), columns: columns(1_600), primaryKey: names(32), comment: '🙂'.repeat(500) };
  expect((await readTable(orders)).tables).toEqual([orders]);
  expect((await readTable(widest)).tables).toEqual([widest]);
});

test.each<readonly [string, object]>([
  ['2,000 columns', { ...orders, columns: columns(2_000) }],
  ['a name of 64 letters', { ...orders, name: 'x'.repeat(64) }],
  ['a primary key of 33 columns', { ...orders, columns: columns(33), primaryKey: names(33) }],
  ['a foreign key of 33 columns', { ...orders, foreignKeys: [keyTo(...names(33))] }],
  ['51 labels', { ...orders, columns: [{ ...id, labels: names(51) }] }],
  ['a comment that was not cut', { ...orders, comment: 'x'.repeat(1_001) }],
  ['a type of 501 letters', { ...orders, columns: [{ ...id, type: 'x'.repeat(501) }] }],
  ['a column that is no text', { ...orders, columns: [{ ...id, name: { toString: 1 } }] }],
  ['no columns', { ...orders, columns: null }],
  ['further fields', { ...orders, more: [[[]]] }],
])('a data source is refused whose table has %s', async (_, table) => {
  await expect(readTable(table)).rejects.toMatchObject(unavailable);
});

const effect: CatalogEffect = {
  schema: 'public',
  table: 'orders',
  columns: ['id'],
  onDelete: 'delete',
  onUpdate: null,
  reaches: [{ schema: 'public', name: 'lines' }],
  sets: ['id'],
};
const readEffect = (row: object) => readCatalog(/with recursive acting/, { ...effect, ...row });

test('a data source is refused that describes more tables than it was asked for', async () => {
  const row = { table: orders, dependsOnAccount: false, total: 1 };
  expect((await readCatalog(/needsFence/, row, 5_000)).tables).toHaveLength(5_000);
  await expect(readCatalog(/needsFence/, row, 5_001)).rejects.toMatchObject(unavailable);
});

test('so is one whose rules or account PostgreSQL cannot have', async () => {
  expect((await readEffect({})).effects).toHaveLength(1);
  await expect(readEffect({ onDelete: 'truncate' })).rejects.toMatchObject(unavailable);
  await expect(readEffect({ sets: names(33) })).rejects.toMatchObject(unavailable);
  await expect(readEffect({ columns: names(33) })).rejects.toMatchObject(unavailable);
  await expect(readEffect({ reaches: [['public', 'lines']] })).rejects.toMatchObject(unavailable);
  const account = { schema: 'public', power: 'is a superuser', mayMakeRoles: false };
  expect((await readCatalog(/current_schema/, account)).tables).toEqual([]);
  await expect(readCatalog(/current_schema/, { ...account, power: 'x'.repeat(1_000) })).rejects.toMatchObject(unavailable);
});
