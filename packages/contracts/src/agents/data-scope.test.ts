import { expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { formatTableScope, parseTableScope, type TableScope } from './data-scope.ts';

const name = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .filter((text) => !text.includes('\0') && Buffer.byteLength(text) <= 63 && text.isWellFormed());
const scope: fc.Arbitrary<TableScope> = fc.record({
  schema: fc.option(name),
  table: name,
  columns: fc.option(fc.uniqueArray(name, { minLength: 1, maxLength: 8 })),
});
const space = fc.constantFrom('', ' ', '\t', '  \n');

test('a formatted scope is parsed as the same scope, with any characters in its names', () => {
  fc.assert(fc.property(scope, (parsed) => expect(parseTableScope(formatTableScope(parsed))).toEqual(parsed)));
});

test('spaces between the parts mean nothing', () => {
  fc.assert(
    fc.property(space, space, space, (a, b, c) => {
      const spaced = `${a}sales${b}.${c}orders${b}(${a}id${c},${b}total${a})${c}`;
      expect(parseTableScope(spaced)).toEqual({ schema: 'sales', table: 'orders', columns: ['id', 'total'] });
    }),
  );
});

test.each([
  ['orders', { schema: null, table: 'orders', columns: null }],
  ['Orders(ID, Total)', { schema: null, table: 'orders', columns: ['id', 'total'] }],
  ['"Orders"("ID")', { schema: null, table: 'Orders', columns: ['ID'] }],
  ['"a""b".c$1', { schema: 'a"b', table: 'c$1', columns: null }],
  ['ÉTÉ', { schema: null, table: 'ÉtÉ', columns: null }],
  ['straße', { schema: null, table: 'straße', columns: null }],
  ['x'.repeat(63), { schema: null, table: 'x'.repeat(63), columns: null }],
])('%s is read as PostgreSQL would', (text, expected) => {
  expect(parseTableScope(text)).toEqual(expected);
});

test.each([
  '',
  ' ',
  'orders()',
  'orders(',
  'orders)',
  'orders(id',
  'orders(id,)',
  'orders(id, id)',
  'orders(id, ID)',
  'orders(id) x',
  'orders, customers',
  'orders;drop table x',
  'orders--',
  'orders/**/',
  'a.b.c',
  '.orders',
  'orders.',
  '1orders',
  '$orders',
  '""',
  '"a\0b"',
  '"open',
  'orders(*)',
  'orders(count(*))',
  'or ders',
  'x'.repeat(64),
  'é'.repeat(32),
])('%j names no table', (text) => {
  expect(parseTableScope(text)).toBeUndefined();
});

test('every text is parsed or refused without an exception, and each parsed entry has exactly one spelling', () => {
  const pieces = fc.array(fc.constantFrom('orders', 'ID', '"', '""', '.', ',', '(', ')', ' ', '"a b"', '$', '1', 'é', "'", ';'), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        pieces.map((list) => list.join('')),
      ),
      (text) => {
        const read = parseTableScope(text);
        if (read) expect(parseTableScope(formatTableScope(read))).toEqual(read);
      },
    ),
  );
});

test('names are encoded only if their length does not tell how many bytes they have, and only so many as an entry may have', () => {
  const encode = jest.spyOn(TextEncoder.prototype, 'encode');
  const columns = Array.from({ length: 300 }, (_, index) => `c${index}`);
  expect(parseTableScope(`orders(${columns.join()})`)?.columns).toEqual(columns);
  expect(parseTableScope(`${'x'.repeat(64)}`)).toBeUndefined();
  expect(encode).not.toHaveBeenCalled();
  const [longest, long] = ['ß'.repeat(31), 'ß'.repeat(32)];
  expect([parseTableScope(longest)?.table, parseTableScope(long)]).toEqual([longest, undefined]);
  encode.mockClear();
  expect(parseTableScope(Array(60).fill(longest).join('.'))).toBeUndefined();
  expect(encode).toHaveBeenCalledTimes(3);
  encode.mockRestore();
});
