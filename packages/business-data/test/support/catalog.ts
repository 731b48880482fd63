import type { CatalogColumn, CatalogTable } from '../../src/scope/catalog.ts';

export const catalogColumn = (name: string, type = 'text'): CatalogColumn => ({
  name,
  type,
  nullable: true,
  generated: false,
  groupable: type !== 'json',
  comment: null,
  labels: null,
});

export const catalogTable = (
  schema: string,
  name: string,
  columns: readonly CatalogColumn[],
  more: Partial<CatalogTable> = {},
): CatalogTable => ({
  schema,
  name,
  kind: 'table',
  needsFence: false,
  comment: null,
  columns,
  primaryKey: columns.some((column) => column.name === 'id') ? ['id'] : [],
  foreignKeys: [],
  approximateRows: null,
  ...more,
});
