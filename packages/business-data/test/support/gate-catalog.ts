import { resolveScope } from '../../src/scope/resolve-scope.ts';
import { catalogColumn, catalogTable } from './catalog.ts';

const columns = ['id', 'a'].map((name) => catalogColumn(name, 'integer'));

/** A scope of one table, `t(id, a)`. */
export const { scope } = resolveScope(
  { defaultSchema: 'public', tables: [catalogTable('public', 't', columns)], effects: [] },
  { tables: ['t'], readOnly: true },
);
