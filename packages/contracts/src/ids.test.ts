import { expect, test } from '@jest/globals';
import { decodeTime } from 'ulid';
import { newId } from './ids.ts';

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
  const timeOf = (id: string) => id.slice('evt_'.length, 'evt_'.length + 10);
  const first = newId('evt', now);
  let before = first;
  let isInOrder = true;
  for (let count = 0; count < 32 ** 4 && timeOf(before) === timeOf(first); count += 1) {
    const id = newId('evt', now);
    isInOrder &&= id > before && id.length === before.length;
    before = id;
  }
  expect([isInOrder, decodeTime(before.slice('evt_'.length).toUpperCase())]).toEqual([true, now + 1]);
});
