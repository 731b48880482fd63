import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createCursors } from './cursors.ts';

const [secret, other] = ['a-cursor-secret-that-is-long-enough', 'another-cursor-secret-of-good-length'];
const cursors = createCursors([secret]);
const page = fc.record({ after: fc.array(fc.oneof(fc.string(), fc.integer())), total: fc.option(fc.nat(), { nil: undefined }) });

test('a cursor decodes to the page that it was made of, for the same list', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), page, (binding, { after, total }) => {
      const expected = total === undefined ? { after } : { after, total };
      expect(cursors.decode(binding, cursors.encode(binding, { after, total }))).toEqual(expected);
    }),
  );
});

test('a cursor is refused for another tenant, filter or secret', () => {
  const cursor = cursors.encode(['users', 'org_a', 'admin'], { after: ['2026-01-01', 'usr_1'] });
  for (const binding of [
    ['users', 'org_b', 'admin'],
    ['users', 'org_a', ''],
    ['audit', 'org_a', 'admin'],
    ['users', 'org_a'],
  ]) {
    expect(() => cursors.decode(binding, cursor)).toThrow(expect.objectContaining({ code: 'invalid_cursor' }));
  }
  expect(() => createCursors([other]).decode(['users', 'org_a', 'admin'], cursor)).toThrow();
  expect(createCursors([other, secret]).decode(['users', 'org_a', 'admin'], cursor)?.after).toEqual(['2026-01-01', 'usr_1']);
});

test('a cursor with a changed character is refused, and so is any other text', () => {
  const cursor = cursors.encode(['users'], { after: ['2026-01-01', 'usr_1'], total: 7 });
  fc.assert(
    fc.property(fc.nat(cursor.length - 1), fc.constantFrom(...'ABCabc019-_=+/ '), (at, letter) => {
      fc.pre(cursor[at] !== letter);
      expect(() => cursors.decode(['users'], cursor.slice(0, at) + letter + cursor.slice(at + 1))).toThrow();
    }),
  );
  fc.assert(fc.property(fc.string({ minLength: 1 }), (text) => expect(() => cursors.decode(['users'], text)).toThrow()));
});

test('an empty cursor means the first page', () => {
  expect(cursors.decode(['users'], '')).toBeUndefined();
});
