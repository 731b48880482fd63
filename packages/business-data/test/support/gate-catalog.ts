import type { Catalog } from '../../src/scope/catalog.ts';
import { resolveScope } from '../../src/scope/resolve-scope.ts';

const column = (name: string) => ({
  name,
  type: 'integer',
  nullable: true,
  generated: false,
  groupable: true,
  comment: null,
  labels: null,
});

const catalog: Catalog = {
  defaultSchema: 'public',
  tables: [
    {
      schema: 'public',
      name: 't',
      kind: 'table',
      fenced: false,
      comment: null,
      columns: ['id', 'a'].map(column),
      primaryKey: ['id'],
      foreignKeys: [],
      approximateRows: null,
    },
  ],
};

/** A scope of one table, `t(id, a)`. */
export const { scope } = resolveScope(catalog, { tables: ['t'], readOnly: true });
