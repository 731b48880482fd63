import { expect, test } from '@jest/globals';
import type { Catalog, CatalogTable } from './catalog.ts';
import { resolveScope } from './resolve-scope.ts';
import { suggestNames } from './suggest-names.ts';

const table = (schema: string, name: string, columns: readonly string[]): CatalogTable => ({
  schema,
  name,
  kind: 'table',
  needsFence: false,
  comment: null,
  columns: columns.map((column) => ({
    name: column,
    type: 'text',
    nullable: true,
    generated: false,
    groupable: true,
    comment: null,
    labels: null,
  })),
  primaryKey: [],
  foreignKeys: [],
  approximateRows: null,
});
const catalog: Catalog = {
  defaultSchema: 'public',
  tables: [table('public', 'Drivers', ['fullName', 'order']), table('Old Data', 'drivers_2020', ['id'])],
  effects: [],
};

test.each([
  ['Drivers', 'Did you mean "Drivers"? The tables are: "Drivers", "Old Data".drivers_2020'],
  ['"Drivers"(fullname)', 'Did you mean "fullName"? The columns are: "fullName", "order"'],
])('a name is suggested as a scope must write it: %s', (entry, text) => {
  expect(suggestNames(catalog, entry)).toBe(text);
});

test.each([
  ['invoices', 'The tables are: "Drivers", "Old Data".drivers_2020'],
  ['"DRIVERS"', 'Did you mean "Drivers"? The tables are: "Drivers", "Old Data".drivers_2020'],
  ['"Old Data".drivers_2020(id, ids)', 'Did you mean id? The columns are: id'],
  ['"Drivers"("fullName"', ''],
])('only a name that is near is suggested: %s', (entry, text) => {
  expect(suggestNames(catalog, entry)).toBe(text);
});

test('of many names the first are listed, and of none there is nothing to suggest', () => {
  const tables = Array.from({ length: 25 }, (_, index) => table('public', `t${index + 10}`, ['id']));
  expect(suggestNames({ ...catalog, tables }, 'invoices')).toMatch(/^The tables are: t10, .*, t29 and 5 more$/);
  expect(suggestNames({ ...catalog, tables: [] }, 'invoices')).toBe('There are no tables.');
});

test('a suggested name names the table', () => {
  const { unknown } = resolveScope(catalog, { tables: ['"Drivers"("fullName", "order")', '"Old Data".drivers_2020'], readOnly: true });
  expect(unknown).toEqual([]);
});
