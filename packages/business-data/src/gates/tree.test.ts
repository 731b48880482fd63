import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sameTree } from './tree.ts';

const trees = fc.object({
  key: fc.constantFrom('a', 'b', 'sval', 'fields'),
  maxDepth: 4,
  values: [fc.integer(), fc.string(), fc.boolean()],
  withNullPrototype: false,
});

/** The same tree as it would be parsed from another text. */
function moved(node: unknown, by: number): unknown {
  if (Array.isArray(node)) return node.map((item) => moved(item, by));
  if (typeof node !== 'object' || node === null) return node;
  return { location: by, ...Object.fromEntries(Object.entries(node).map(([key, value]) => [key, moved(value, by + 1)])), stmt_len: by };
}

test('positions do not count', () => {
  fc.assert(fc.property(trees, (tree) => expect(sameTree(tree, moved(tree, 7))).toBe(true)));
});

test('everything else does', () => {
  fc.assert(
    fc.property(trees, trees, (left, right) => {
      expect(sameTree(left, right)).toBe(JSON.stringify(sorted(left)) === JSON.stringify(sorted(right)));
    }),
  );
  expect(sameTree({ a: [1, 2] }, { a: [2, 1] })).toBe(false);
  expect(sameTree({ a: 1 }, { a: 1, b: {} })).toBe(false);
  expect(sameTree({ a: {} }, { a: [] })).toBe(false);
});

function sorted(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(sorted);
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(
    Object.entries(node)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([key, value]) => [key, sorted(value)]),
  );
}
