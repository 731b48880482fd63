import { expect, test } from '@jest/globals';
import { catalogColumn, catalogTable } from '../test/support/catalog.ts';
import { buildChange } from './change.ts';
import type { CatalogEffect } from './scope/catalog.ts';
import { resolveScope } from './scope/resolve-scope.ts';

const table = catalogTable('public', 't0', [catalogColumn('id')]);
const { scope } = resolveScope({ defaultSchema: 'public', tables: [table], effects: [] }, { tables: ['t0'], readOnly: false });

const count = 5_000;
/** Effects of which each read is counted. */
const countReads = (effects: readonly CatalogEffect[], onRead: () => void): CatalogEffect[] =>
  effects.map(
    (effect) =>
      new Proxy(effect, {
        get(target, name) {
          onRead();
          return target[name as keyof CatalogEffect];
        },
      }),
  );

test.each<readonly [string, boolean, (index: number) => Partial<CatalogEffect>]>([
  ['of one table that set different columns', true, (index) => ({ sets: [`c${index}`] })],
  ['in a chain', false, (index) => ({ table: `t${index}`, onDelete: 'delete', reaches: [{ schema: 'public', name: `t${index + 1}` }] })],
  [
    'that lead to each other',
    false,
    (index) => ({ table: `t${index % 70}`, reaches: [{ schema: 'public', name: `t${(index * 31 + 1) % 70}` }] }),
  ],
])('effects %s are followed once each', (_, isInScope, more) => {
  let reads = 0;
  const effects = Array.from(
    { length: count },
    (_effect, index): CatalogEffect => ({
      schema: 'public',
      table: 't0',
      columns: null,
      onDelete: 'update',
      onUpdate: 'update',
      reaches: [{ schema: 'public', name: 't0' }],
      sets: [],
      ...more(index),
    }),
  );
  const change = { table: 't0', operation: 'delete', rows: [{ key: { id: 1 } }] } as const;
  const work = () => buildChange(scope, { effects: countReads(effects, () => (reads += 1)) }, change);
  if (isInScope) expect(work().statements).toHaveLength(1);
  else expect(work).toThrow('rows that are not in scope');
  expect(reads).toBeLessThan(20 * count);
});

test('an effect on many tables is looked up once for each of them', () => {
  let reads = 0;
  const reached = {
    schema: 'public',
    get name() {
      reads += 1;
      return 't0';
    },
  };
  const sets = Array.from({ length: 32 }, (_, index) => `c${index}`);
  const many: CatalogEffect = {
    schema: 'public',
    table: 't0',
    columns: ['c'],
    onDelete: 'update',
    onUpdate: null,
    reaches: Array(200_000).fill(reached),
    sets,
  };
  const { statements } = buildChange(scope, { effects: [many] }, { table: 't0', operation: 'delete', rows: [{ key: { id: 1 } }] });
  expect(statements).toHaveLength(1);
  expect(reads).toBeLessThan(2 * many.reaches.length);
});
