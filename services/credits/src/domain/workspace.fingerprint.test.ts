import { anyCharacter, checkProperty } from '@agent-service/testkit/properties';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { fingerprint } from './workspace.ts';

test('a fingerprint is a whole number that a bigint column and a double keep exactly', () => {
  checkProperty(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      const print = fingerprint(text);
      expect(Number.isSafeInteger(print) && print >= 0).toBe(true);
      expect(fingerprint(text)).toBe(print);
    }),
  );
});

test('100,000 texts that differ in one character have as many fingerprints', () => {
  const prints = new Set(Array.from({ length: 100_000 }, (_, i) => fingerprint(`agt_1\nconv_1\nFast\n${i}\n50\nHow much?`)));
  expect(prints.size).toBe(100_000);
});
