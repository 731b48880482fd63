import { expect, test } from '@jest/globals';
import { CallAges } from './call-ages.ts';

let now = 0;
/** The header of a sender whose clock is a million milliseconds ahead. */
const sentAt = (time: number, sender = 'sender') => `${sender} ${time + 1_000_000}`;

function createAges(): CallAges {
  now = 0;
  return new CallAges(() => now);
}

test('a call is as old as it took longer than the fastest call of its sender', () => {
  const ages = createAges();
  now = 10;
  expect(ages.ageOf(sentAt(0))).toBe(0);
  now = 1_010;
  expect(ages.ageOf(sentAt(500))).toBe(500);
  expect(ages.ageOf(sentAt(1_005))).toBe(0);
  expect(ages.ageOf(sentAt(1_000))).toBe(5);
  expect(ages.ageOf(sentAt(0, 'another-sender'))).toBe(0);
});

test.each([undefined, '', 'sender', 'sender ', 'sender x'])('%j says nothing about the age', (sent) => {
  expect(createAges().ageOf(sent)).toBe(0);
});

test('the fastest call counts in its window of five minutes and in the next one, and is forgotten then', () => {
  const ages = createAges();
  ages.ageOf(sentAt(0));
  now = 300_001;
  expect(ages.ageOf(sentAt(now - 20))).toBe(20);
  now = 600_000;
  expect(ages.ageOf(sentAt(now - 20))).toBe(20);
  now = 600_002;
  expect(ages.ageOf(sentAt(now - 20))).toBe(0);
});

test('a thousand senders are remembered, and the next one takes the place of all', () => {
  const ages = createAges();
  for (let sender = 0; sender < 1_000; sender += 1) ages.ageOf(sentAt(0, `${sender}`));
  now = 50;
  expect(ages.ageOf(sentAt(0, '0'))).toBe(50);
  ages.ageOf(sentAt(0, '1000'));
  expect(ages.ageOf(sentAt(0, '0'))).toBe(0);
});
