import { type Catalog, type CatalogTable, type DataSource, resolveScope } from '@agent-service/business-data';
import type { Call } from '@agent-service/contracts';
import { expect, test } from '@jest/globals';
import type { DataSourcesDeps } from '../sources.ts';
import { describeDataSource } from './describe.ts';

const reads = { names: 0, columns: 0 };

/** Counts how often it is read. */
const countedTable = (name: string): CatalogTable => ({
  schema: 'public',
  get name() {
    reads.names += 1;
    return name;
  },
  kind: 'table',
  needsFence: false,
  comment: null,
  get columns() {
    reads.columns += 1;
    return [];
  },
  primaryKey: [],
  foreignKeys: [],
  approximateRows: null,
});

const tableName = (index: number) => `t${String(index).padStart(4, '0')}`;
const catalog: Catalog = {
  defaultSchema: 'public',
  tables: Array.from({ length: 2_000 }, (_, index) => countedTable(tableName((index * 7) % 2_000))),
  effects: [],
};

const source = { catalog: async () => catalog, roleGate: async () => ({ isActive: true, reason: '' }) } as unknown as DataSource;
const deps = {
  store: { read: async () => ({ urlSealed: 'x' }) },
  sources: { open: () => ({}), source: () => source },
  cursors: {
    decode: (_: unknown, cursor: string) => (cursor === '' ? undefined : { after: [cursor] }),
    encode: (_: unknown, { after }: { after: string[] }) => after[0],
  },
} as unknown as DataSourcesDeps;
const call = { principal: { organizationId: 'org_1', environment: 'live' } } as unknown as Call;

const readPage = (cursor: string) => describeDataSource(deps).handle({ page: { limit: 100, cursor } }, call);

test('a page reads only its own tables, and the names of all tables are read once for a catalog', async () => {
  const first = await readPage('');
  expect(first).toMatchObject({ status: 'connected', page: { total: 2_000, nextCursor: tableName(99) } });
  expect(reads).toEqual({ names: 2_000, columns: 100 });
  const second = await readPage(tableName(99));
  expect(second.tables?.map(({ name }) => name)).toEqual(Array.from({ length: 100 }, (_, index) => tableName(100 + index)));
  expect(reads).toEqual({ names: 2_000, columns: 200 });
  expect(await readPage(tableName(1_999))).toMatchObject({ tables: [], page: { nextCursor: '' } });
});

test('a table has the name that a data scope has for it, in quotes where it needs them', async () => {
  const named: Catalog = {
    defaultSchema: 'public',
    tables: [countedTable('Drivers'), { ...countedTable('routes'), name: 'routes', schema: 'Old Data' }],
    effects: [],
  };
  const other = { ...deps, sources: { open: () => ({}), source: () => ({ ...source, catalog: async () => named }) } };
  const { tables = [] } = await describeDataSource(other as unknown as DataSourcesDeps).handle({ page: { limit: 100, cursor: '' } }, call);
  expect(tables.map(({ name }) => name)).toEqual(['"Drivers"', '"Old Data".routes'].toSorted());
  expect(resolveScope(named, { tables: tables.map(({ name }) => String(name)), readOnly: true }).unknown).toEqual([]);
});
