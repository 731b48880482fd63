import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isNewer, versionPattern } from './catalogue.ts';

const parts = fc.tuple(fc.nat(12), fc.nat(12), fc.nat(12));
const textOf = (version: readonly number[]) => version.join('.');

test('a version is newer when the first number that differs is larger', () => {
  expect([isNewer('1.10.0', '1.9.9'), isNewer('2.0.0', '1.99.99'), isNewer('1.0.0', '1.0.0')]).toEqual([true, true, false]);
  fc.assert(
    fc.property(parts, parts, (one, other) => {
      const [newer, older, same] = [
        isNewer(textOf(one), textOf(other)),
        isNewer(textOf(other), textOf(one)),
        textOf(one) === textOf(other),
      ];
      expect([newer, older, same].filter(Boolean)).toHaveLength(1);
    }),
  );
});

test('a version has three numbers', () => {
  for (const version of ['0.0.1', '1.0.0', '12.34.56']) expect(version).toMatch(versionPattern);
  for (const text of ['1.0', '1.0.0.0', 'v1.0.0', '01.0.0', '1.0.0-rc', '1..0', '']) expect(text).not.toMatch(versionPattern);
});
