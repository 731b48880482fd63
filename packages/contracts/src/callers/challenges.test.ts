import { expect, test } from '@jest/globals';
import { Challenges } from './challenges.ts';

test('a challenge is good for 30 to 60 seconds of this process’s own clock', () => {
  let now = 0;
  const challenges = new Challenges(() => now);
  const first = challenges.present;
  now = 29_999;
  expect(challenges.present).toBe(first);
  now = 30_000;
  expect(challenges.present).not.toBe(first);
  expect(challenges.isGood(first)).toBe(true);
  now = 60_000;
  expect(challenges.isGood(first)).toBe(false);
  expect(challenges.isGood('')).toBe(false);
});

test('after a long pause of the process no challenge of before is good', () => {
  let now = 0;
  const challenges = new Challenges(() => now);
  const first = challenges.present;
  now = 600_000;
  expect(challenges.isGood(first)).toBe(false);
});

test('an effect is accepted once, and what is remembered is bounded', () => {
  const challenges = new Challenges(() => 0);
  const first = challenges.present;
  expect(challenges.acceptOnce(first, 's')).toBe(true);
  expect(challenges.acceptOnce(first, 's')).toBe(false);
  for (let index = 0; index < 100_000; index += 1) challenges.acceptOnce(first, `s${index}`);
  expect(challenges.present).not.toBe(first);
  expect(challenges.acceptOnce(first, 's')).toBe(false);
});
