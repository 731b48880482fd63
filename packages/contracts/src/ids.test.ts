import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decodeTime } from 'ulid';
import { isWellFormedApiKey, makeApiKey, newId } from './ids.ts';

test('identifiers say what they name, are unique and sort by their making', () => {
  const ids = Array.from({ length: 10_000 }, () => newId('usr'));
  expect(new Set(ids).size).toBe(ids.length);
  expect([...ids].sort()).toEqual(ids);
  for (const id of ids) expect(id).toMatch(/^usr_[0-9a-z]{26}$/);
});

test('after a clock that was ahead was set back, identifiers have the right time again', () => {
  const now = Date.now();
  const timeOf = (id: string) => decodeTime(id.slice('msg_'.length).toUpperCase());
  const [before, ahead, after, next] = [now, now + 600_000, now + 1, now + 2].map((at) => newId('msg', at)) as [
    string,
    string,
    string,
    string,
  ];
  expect([before, ahead, after, next].map(timeOf)).toEqual([now, now + 600_000, now + 1, now + 2]);
  expect([before, after, next].toSorted()).toEqual([before, after, next]);
  // The measured time varies by less than this, and the order of identifiers stays.
  expect(newId('msg', now - 5_000) > next).toBe(true);
});

test('an identifier does not tell those that were made beside it', () => {
  const digits = '0123456789abcdefghjkmnpqrstvwxyz';
  const numberOf = (id: string) => [...id.slice('conv_'.length)].reduce((sum, digit) => sum * 32n + BigInt(digits.indexOf(digit)), 0n);
  const now = Date.now();
  const numbers = Array.from({ length: 1_000 }, () => numberOf(newId('conv', now)));
  const distances = numbers.slice(1).map((number, index) => number - (numbers[index] as bigint));
  // A neighbor is one of about 2 ** 60 numbers.
  expect(distances.filter((distance) => distance < 2n ** 40n)).toEqual([]);
  expect(new Set(distances).size).toBe(distances.length);
});

test('more identifiers than one millisecond has places for are in order as well', () => {
  const now = Date.now();
  let before = newId('evt', now);
  let isInOrder = true;
  for (let count = 0; count < 32 ** 4; count += 1) {
    const id = newId('evt', now);
    isInOrder &&= id > before && id.length === before.length;
    before = id;
  }
  expect([isInOrder, decodeTime(before.slice('evt_'.length).toUpperCase())]).toEqual([true, now + 1]);
});

const letters = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'];
const random = fc.string({ unit: fc.constantFrom(...letters), minLength: 32, maxLength: 32 });
const environment = fc.constantFrom('live' as const, 'test' as const);

test('a key that was made here is well-formed and says its environment', () => {
  fc.assert(
    fc.property(environment, random, (environmentName, text) => {
      const key = makeApiKey(environmentName, text);
      expect(key).toMatch(new RegExp(`^sa_${environmentName}_[0-9A-Za-z]{38}$`));
      expect(isWellFormedApiKey(key)).toBe(true);
    }),
  );
});

test('one changed character, and the other environment, are noticed', () => {
  fc.assert(
    fc.property(environment, random, fc.nat(37), fc.constantFrom(...letters), (environmentName, text, at, letter) => {
      const key = makeApiKey(environmentName, text);
      const index = 8 + at;
      fc.pre(key[index] !== letter);
      expect(isWellFormedApiKey(key.slice(0, index) + letter + key.slice(index + 1))).toBe(false);
      expect(isWellFormedApiKey(key.replace(`sa_${environmentName}_`, environmentName === 'live' ? 'sa_test_' : 'sa_live_'))).toBe(false);
    }),
  );
});

test('garbage is not well-formed', () => {
  fc.assert(fc.property(fc.string(), (text) => !isWellFormedApiKey(text)));
});
