import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { timeOf, userMessageIdOf } from './message-id.ts';

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const random = fc.array(fc.constantFrom(...alphabet), { minLength: 16, maxLength: 16 }).map((characters) => characters.join(''));
const time = fc.integer({ min: 1, max: Date.UTC(10_000, 0) - 1 });

/** The time as ids carry it: ten places of five bits. */
function encoded(milliseconds: number): string {
  const bits = milliseconds.toString(2).padStart(50, '0');
  return (bits.match(/.{5}/g) ?? []).map((five) => alphabet[Number.parseInt(five, 2)]).join('');
}

test('an id has a time, and the id of the user’s message is a millisecond older and otherwise the same', () => {
  fc.assert(
    fc.property(time, random, (at, rest) => {
      const id = `msg_${encoded(at)}${rest}`;
      expect(timeOf(id)).toBe(at);
      expect(userMessageIdOf(id)).toBe(`msg_${encoded(at - 1)}${rest}`);
      expect(userMessageIdOf(id) < id).toBe(true);
    }),
  );
});

test('a text that is not the id of a message has no time', () => {
  for (const id of [
    '',
    'msg_',
    'msg_1',
    `conv_${'0'.repeat(26)}`,
    `msg_8${'0'.repeat(25)}`,
    `msg_${'u'.repeat(26)}`,
    `msg_${'0'.repeat(27)}`,
    `msg_${'0'.repeat(26)}`,
    `msg_7${'z'.repeat(25)}`,
    `msg_${encoded(Date.UTC(10_000, 0))}${'0'.repeat(16)}`,
  ])
    expect(timeOf(id)).toBeUndefined();
  expect(() => userMessageIdOf(`msg_${'0'.repeat(26)}`)).toThrow(RangeError);
});
